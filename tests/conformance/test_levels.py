"""Levels with names: which one a report reaches, and what stands between it and the next."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from made_up_reports import area, check

from accelplug.conformance import AREAS, AreaReport, catalogue, levels
from accelplug.errors import BadInputError


def upto(level: str) -> list[AreaReport]:
    return [area(name) for name in levels.areas_of(level)]


def without(areas: Iterable[AreaReport], name: str, *instead: AreaReport) -> list[AreaReport]:
    return [*(each for each in areas if each.name != name), *instead]


def test_every_area_of_accelplug_belongs_to_one_level_and_every_level_names_areas_there_are() -> None:
    named = [name for level in levels.LEVELS for name in level.areas]
    assert sorted(named) == sorted(catalogue.names())
    assert {each.name for each in AREAS} < {*named}
    assert all({*level.shown} <= {*level.areas} for level in levels.LEVELS)


@pytest.mark.parametrize("level", levels.names())
def test_a_level_is_reached_where_nothing_is_wrong_in_its_areas_and_those_before(level: str) -> None:
    found = levels.standing(upto(level), sample="")
    assert found.level == level
    after = [*levels.names(), ""]
    assert found.next == after[after.index(level) + 1]


def test_what_is_wrong_stands_between_a_device_and_the_next_level() -> None:
    broken = area("compile", check("compile", "a model"), check("compile", "training", "error", "it crashed"))
    found = levels.standing(without(upto("scales"), "compile", broken), sample="")
    assert (found.level, found.next) == ("computes", "compiles")
    assert found.missing == ("compile: 1 of 2 checks found something wrong",)


def test_a_level_is_not_reached_by_leaving_out_what_it_is_about() -> None:
    skipped = area("vllm_serving", check("vllm_serving", "vllm is installed", "skipped", "vllm is not installed"))
    found = levels.standing(without(upto("serves"), "vllm_serving", skipped), sample="")
    assert (found.level, found.missing) == ("compiles", ("vllm_serving: nothing was shown (vllm is not installed)",))


def test_what_a_device_may_lack_may_be_left_out() -> None:
    nothing = area("vllm_shapes", check("vllm_shapes", "static shapes", "skipped", "the device takes any shape"))
    assert levels.standing(without(upto("serves"), "vllm_shapes", nothing), sample="").level == "serves"


def test_an_area_that_was_not_examined_is_named() -> None:
    found = levels.standing(without(upto("computes"), "ops"), sample="")
    assert (found.level, found.missing) == ("detects", ("ops: not examined",))


def test_a_sample_reaches_no_level() -> None:
    found = levels.standing(upto("scales"), sample="a sample (--quick)")
    assert (found.level, found.next) == ("", "")
    assert found.missing == ("a sample (--quick): a level needs every check",)


def test_a_level_that_does_not_exist_is_refused_with_the_nearest() -> None:
    with pytest.raises(BadInputError, match=r"unknown level 'compute'; did you mean 'computes'\?"):
        levels.areas_of("compute")


def test_the_documentation_has_them_as_they_are() -> None:
    said = (Path(__file__).parents[2] / "docs" / "conformance.md").read_text()
    for level in levels.LEVELS:
        areas = ", ".join(f"**`{name}`**" if name in level.shown else f"`{name}`" for name in level.areas)
        assert f"| `{level.name}` | {level.statement} | {areas} |" in said
    for name in catalogue.names():
        assert f"\n| `{name}` | " in said
