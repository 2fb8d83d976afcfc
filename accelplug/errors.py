"""The errors accelplug raises. Each message names the value, the allowed ones, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accelplug.specs import Selection


class AccelplugError(Exception):
    """Anything accelplug refuses to do. ``exit_code`` is what the command line ends with."""

    exit_code = 1


class BadInputError(AccelplugError):
    """Something a person wrote is wrong: a name, a setting, a file."""

    exit_code = 2


class UnknownDeviceError(BadInputError):
    """A device name that no backend has."""

    def __init__(self, name: str, known: Iterable[str], asked_by: str) -> None:
        known = ["auto", *known]
        super().__init__(
            f"unknown device {name!r} (from {asked_by}){did_you_mean(name, known)}; known: {', '.join(known)}"
        )


class DeviceUnusableError(AccelplugError):
    """The device that was asked for can't be used here. ``selection`` has every verdict."""

    def __init__(self, selection: Selection, message: str = "") -> None:
        self.selection = selection
        super().__init__(message or _unusable(selection))


class ActivationError(AccelplugError):
    """A usable device could not be made live."""


class BackendError(AccelplugError):
    """A backend's hook failed, or returned what it must not."""


class CompileRefusedError(AccelplugError):
    """A graph that can't be compiled as asked."""


class DeviceLostError(AccelplugError):
    """A device that was live runs nothing any more in this process. The message has what it said last."""


class FallbackRefusedError(AccelplugError, NotImplementedError):
    """An operator would have run on the CPU in the device's place, which the ledger's policy or a budget forbids."""


class ForkedDeviceError(AccelplugError):
    """A device made live in a parent process was used in a forked child."""


class ShapeRefusedError(CompileRefusedError):
    """A shape that no bucket holds, or one that would have to be compiled now and that nobody warmed up."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The lower-case name in ``known`` that a person most likely meant, None where none is near."""
    return next(iter(difflib.get_close_matches(name.lower(), [*known], n=1, cutoff=0.6)), None)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``"; did you mean 'neuron'?"``, or nothing where no name is near."""
    near = nearest(name, known)
    return f"; did you mean {near!r}?" if near else ""


def _unusable(selection: Selection) -> str:
    lines = [f"device {selection.requested!r} (from {selection.decided_by}) is not usable on this machine:"]
    for candidate in selection.candidates:
        lines.append(f"  {candidate.name:<8} {candidate.verdict!s:<12} {candidate.reason}")
        if candidate.remedy:
            lines.append(f"  {'':<21} what to do: {candidate.remedy}")
    usable = [c.name for c in selection.candidates if c.usable]
    lines.append(f"usable here: {', '.join(usable) or 'none'}")
    return "\n".join(lines)
