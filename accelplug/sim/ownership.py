"""Which lock files stand for the devices of an exclusive profile: one for each device of the machine, for one user."""

from __future__ import annotations

import platformdirs

from accelplug.sim import numbering
from accelplug.sim.profile import Profile


def lock_files(profile: Profile, count: int, visible_devices: str) -> list[str]:
    """The files of this process's ``count`` devices, in their order; none where the profile's devices are shared.

    ``visible_devices`` names the variable that limits what a process sees: device 0 of this process may be number 2 of
    the machine, and another process may have number 0. They are in the user's runtime folder.
    """
    if not profile.exclusive:
        return []
    folder = platformdirs.user_runtime_path("accelplug", ensure_exists=True)
    return [str(folder / f"{profile.name}-{number}.lock") for number in numbering.numbers(visible_devices, count)]
