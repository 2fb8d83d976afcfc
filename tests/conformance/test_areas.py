"""The areas themselves: on simulated devices nothing is wrong, and each says what it is about."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import pytest

from accelplug.conformance import AREAS, Area, ConformanceReport, Outcome, catalogue
from accelplug.errors import BadInputError

Examine = Callable[..., ConformanceReport]

# PyTorch's samples of operators are in tests/sim/test_opinfo.py; compilers take minutes and are left to the command.
LONG = ("ops", "compile", "decompositions", "kernels")
EAGER = ("registration", "accelerator", "tensors", "autograd")


@pytest.mark.parametrize("device", ["neuron", "spyre"])
def test_nothing_is_wrong_on_a_simulated_device(examine: Examine, device: str) -> None:
    wanted = [area.name for area in AREAS if area.name not in LONG and (device == "neuron" or area.name in EAGER)]

    report = examine(device, areas=wanted, quick=True)

    assert report.ok, [(check.area, check.name, check.why) for check in report.wrong()]
    assert report.simulated
    assert [area.name for area in report.areas] == wanted
    assert all(area.counts[Outcome.passed] for area in report.areas if area.name != "distributed")


def test_nothing_is_wrong_with_a_model_that_is_compiled(examine: Examine) -> None:
    report = examine("neuron", areas=["compile"], quick=True)
    assert report.ok, report.wrong()
    assert report.counts[Outcome.passed] == 1


def test_the_cpu_conforms_where_it_has_something_to_conform_to(examine: Examine) -> None:
    report = examine("cpu", areas=["probe", "rng", "tensors", "memory"])
    assert report.ok, report.wrong()
    assert not report.simulated
    assert {check.outcome for check in report["memory"].checks} == {Outcome.skipped}


@pytest.mark.parametrize("area", catalogue.areas(), ids=lambda area: area.name)
def test_every_area_has_a_module_that_says_what_holds(area: Area) -> None:
    module = importlib.import_module(area.module)
    assert module.__doc__.strip().endswith((".", ")")), module.__doc__
    assert len(area.version) == 12
    for check in getattr(module, "CHECKS", ()):
        assert check.remedy, check.name


def test_a_run_takes_the_areas_in_their_order_and_refuses_others(examine: Examine) -> None:
    report = examine("spyre", areas=["saving", "probe"], only=["deepcopy*", "the probe says*"])
    assert [area.name for area in report.areas] == ["probe", "saving"]
    with pytest.raises(BadInputError, match="unknown area 'savin'; did you mean 'saving'"):
        examine("spyre", areas=["savin"])
    with pytest.raises(BadInputError, match="no check in saving is named like nothing"):
        examine("spyre", areas=["saving"], only=["nothing"])
