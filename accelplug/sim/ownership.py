"""Which lock files stand for the devices of an exclusive profile: one for each device of the machine, for one user."""

from __future__ import annotations

import os
import re

import platformdirs

from accelplug.sim.profile import Profile


def lock_files(profile: Profile, count: int, visible_devices: str) -> list[str]:
    """The files of this process's ``count`` devices, in their order; none where the profile's devices are shared.

    ``visible_devices`` names the variable that limits what a process sees: with ``2,3`` in it, device 0 of this process
    is number 2 of the machine, and another process may have number 0. They are in the user's runtime folder.
    """
    if not profile.exclusive:
        return []
    folder = platformdirs.user_runtime_path("accelplug", ensure_exists=True)
    return [str(folder / f"{profile.name}-{number}.lock") for number in _numbers(visible_devices, count)]


def _numbers(variable: str, count: int) -> list[int]:
    """The numbers of the devices in the machine. The backend's probe has found the variable's value to be right."""
    found: list[int] = []
    for first, last in re.findall(r"([0-9]+)(?:-([0-9]+))?", os.environ.get(variable, "")):
        found += range(int(first), int(last or first) + 1)
    return found[:count] if len(found) >= count else [*range(count)]
