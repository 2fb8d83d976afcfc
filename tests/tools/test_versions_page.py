"""docs/versions.md is what the last run of `make test-versions` found, and the range that accelplug declares."""

from __future__ import annotations

import json
from typing import Any

import pytest
from accelplug_vllm.compat import PARTS
from accelplug_vllm.versions import SUPPORTED
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from tools.versions.__main__ import PAGE, RECORD
from tools.versions.features import CRASHES, FEATURES
from tools.versions.fetching import EVERY, WHEELS
from tools.versions.page import page


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    record: dict[str, Any] = json.loads(RECORD.read_text())
    return record


def test_the_page_says_what_the_record_has(found: dict[str, Any]) -> None:
    assert PAGE.read_text() == page(found)


def test_the_versions_are_the_declared_range(found: dict[str, Any]) -> None:
    assert found["supported"] == SUPPORTED
    assert found["versions"] == [*EVERY]
    supported = SpecifierSet(SUPPORTED)
    assert all(version in supported for version in found["versions"])
    first, last = Version(EVERY[0]), Version(EVERY[-1])
    assert f"{first.major}.{first.minor - 1}.9" not in supported
    assert f"{last.major}.{last.minor + 1}.0" not in supported


def test_each_feature_ran_with_each_wheel_and_nothing_crashed(found: dict[str, Any]) -> None:
    assert {*WHEELS} <= {*found["features"]}
    for cells in found["features"].values():
        assert [*cells] == [feature.name for feature in FEATURES]
        assert CRASHES not in {cell["state"] for cell in cells.values()}


def test_it_is_about_the_parts_that_there_are(found: dict[str, Any]) -> None:
    """Their seams may have changed since; what they are called has not."""
    assert all([*parts] == [part.name for part in PARTS] for parts in found["seams"].values())
