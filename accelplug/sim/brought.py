"""The profiles that backends bring: ``profile.toml`` in the package that a backend is. None is imported for it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from accelplug.entry_points import of_group
from accelplug.specs.device import ENTRY_POINTS

FILE = "profile.toml"


def profiles() -> dict[str, Path]:
    """Backends' names to their profiles, by name, for those that bring one. An allow-list keeps none from being found.

    >>> profiles()
    {'neuron': PosixPath('…/accelplug_neuron/profile.toml'), 'spyre': PosixPath('…/accelplug_spyre/profile.toml')}
    """
    return {
        entry_point.name: file for entry_point in of_group(ENTRY_POINTS) for file in _in_package(entry_point.module)
    }


def _in_package(module: str) -> list[Path]:
    """The module's profile, if it is a package with one. Only the top-level name is looked up: that imports nothing."""
    top, *inner = module.split(".")
    spec = find_spec(top)
    folders = (spec.submodule_search_locations if spec else None) or ()
    files = (Path(folder, *inner, FILE) for folder in folders)
    return [file for file in files if file.is_file()][:1]
