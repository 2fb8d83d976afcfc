"""The YAML file that says which tests run: reasons are required, mistakes are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from accelplug.errors import BadInputError
from accelplug.testing.selection import Excepted, Selection, read

MINIMAL = """
written_for: "1.0"
groups:
  - {name: ir, why: dispatch, paths: [tests/ir, tests/test_one.py]}
  - {name: sample, why: sampler, paths: [tests/sample]}
"""


def written(tmp_path: Path, text: str) -> Selection:
    file = tmp_path / "selection.yaml"
    file.write_text(text)
    return read(file)


def test_a_test_belongs_to_the_group_whose_folder_or_file_it_is_in(tmp_path: Path) -> None:
    selection = written(tmp_path, MINIMAL)
    tests = ("tests/ir/ops/test_a.py::test", "tests/test_one.py::test[1]", "tests/irregular/test_b.py::test")
    assert [getattr(selection.group_of(test), "name", None) for test in tests] == ["ir", "ir", None]


def test_a_misspelt_group_is_an_error_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no such group; did you mean 'sample'"):
        written(tmp_path, MINIMAL).only(["sampel"])


def test_an_exception_without_a_reason_is_an_error_that_names_the_field(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"groups\.0\.xfail\.0\.why"):
        written(tmp_path, MINIMAL.replace("[tests/ir, tests/test_one.py]", "[tests/ir], xfail: [{tests: [a]}]"))


def test_only_the_star_is_special_in_a_pattern() -> None:
    entry = Excepted(tests=("tests/a.py::test_x[*-cuda:0]",), why="slow")
    assert entry.pattern_for("tests/a.py::test_x[1.5-cuda:0]", "neuron")
    assert entry.pattern_for("tests/a.py::test_x[1.5-cuda:1]", "neuron") is None
    assert entry.pattern_for("tests/aXpy::test_x[1-cuda:0]", "neuron") is None


def test_an_exception_can_be_for_some_devices_only() -> None:
    entry = Excepted(tests=("*",), why="no float64 there", devices=("neuron",))
    assert entry.pattern_for("tests/a.py::test", "neuron")
    assert entry.pattern_for("tests/a.py::test", "spyre") is None
