"""A project whose tests can run on a device. Packages bring them through entry points of the group `GROUP`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from accelplug.entry_points import of_group, origin
from accelplug.errors import BadInputError, did_you_mean

GROUP = "accelplug.upstream_tests"


@dataclass(frozen=True)
class Target:
    """The device that tests are turned to: its type in PyTorch, as "neuron", live in this process."""

    device: str
    simulated: bool


@dataclass(frozen=True)
class Upstream:
    """One project, in the version that is installed.

    ``selection`` is the YAML file with the tests that run. ``fetch()`` is the folder that has the project's folder
    ``tests`` in it and nothing that could be imported in the installed project's place; it may download. Tests run in a
    process with ``environment()``, where ``prepare()`` makes the device live before any of them is imported.

    What the page of its reports says besides, in Markdown: ``introduction``, how its tests are run, comes first;
    ``rules`` are sentences on what its tests find other than they would elsewhere, beyond what accelplug changes.
    """

    title: str
    version: str
    selection: Path
    fetch: Callable[[], Path]
    environment: Callable[[], Mapping[str, str]]
    prepare: Callable[[], Target]
    introduction: str = ""
    rules: str = ""


def find(name: str) -> Upstream:
    """The project of that name. Raises BadInputError where no installed package brings one."""
    found = {entry_point.name: entry_point for entry_point in of_group(GROUP)}
    if name not in found:
        known = ", ".join(sorted(found)) or "none is installed"
        raise BadInputError(f"--accelplug-upstream {name}: no such project{did_you_mean(name, found)}; known: {known}")
    made = found[name].load()()
    if not isinstance(made, Upstream):
        raise BadInputError(
            f"entry point {name} of {GROUP} ({origin(found[name])}) returned {made!r}, which is no "
            "accelplug.testing.Upstream"
        )
    return made
