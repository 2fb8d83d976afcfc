"""The four calls of the public API: what is here, why, choose, choose by name."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from accelplug import settings
from accelplug.errors import BadInputError
from accelplug.plugins import device_spec
from accelplug.selection import AUTO, choose, require
from accelplug.specs import Explanation, Selection

if TYPE_CHECKING:
    from accelplug.activation import Device


def devices(device: str | None = None, asked_by: str = "argument") -> Selection:
    """Probes every backend and says which device would be chosen. Changes nothing in the process.

    ``device`` asks as ``select`` would, and ``asked_by`` is what the report calls that; ``chosen`` is None where it is
    not usable. Raises UnknownDeviceError for a name that no backend has, BadInputError for a bad setting.
    """
    settings.warn_misspelt()
    return choose(settings.read(), device, asked_by)


def explain(device: str | None = None, asked_by: str = "argument") -> Explanation:
    """The long form of `devices`: for each candidate (or just ``device``) what was looked at, and what to do.

    Its arguments are those of `devices`, and so is what it raises.
    """
    selection = devices(device, asked_by)
    named = None if device in (None, AUTO) else device
    return Explanation(
        selection=selection,
        device=named if named in set(selection.names()) else None,
        settings=settings.read().described(),
    )


def auto() -> Device:
    """Chooses the best usable device and makes it live: the one the settings ask for, else by priority, then name.

    Returns the same device on every call, whatever a later probe would say; only changed settings choose anew.
    Raises DeviceUnusableError where the settings ask for one that isn't usable, else what `select` raises.
    """
    return _auto(settings.read().values, os.getpid())


@functools.cache
def _auto(values: settings.Settings, pid: int) -> Device:
    """Once for each settings and process: a forked child does not take over its parent's device."""
    return select(AUTO)


def select(*names: str, index: int | None = None) -> Device:
    """Makes the first usable of the named devices live: ``select("neuron")``, ``select("neuron", "cuda", index=1)``.

    ``index`` is its place among those of its kind, from 0; None leaves it to PyTorch's current device.
    Raises UnknownDeviceError for a name no backend has, DeviceUnusableError (with every verdict) where none is usable,
    BadInputError for no name, a bad setting or an index that the device does not have, ActivationError where it can't
    be made live, ForkedDeviceError in a child of a process that has made it live.
    """
    from accelplug.activation import activate  # and with it the tables, which who only looks at devices doesn't need

    if not names:
        raise BadInputError('select() needs a name: select("cuda"), select("neuron", "cuda"); or use auto()')
    selection = devices(",".join(names))
    chosen = require(selection)
    if index is not None and not 0 <= index < chosen.count:
        raise BadInputError(
            f"index {index} of {chosen.name}: it has {chosen.count} usable devices, 0 to {chosen.count - 1}"
        )
    values = settings.read().values
    spec = device_spec(chosen.name, values.backends, values.simulate)
    return activate(spec, selection, index)
