"""How a check is written: a function whose name is the statement, which raises where it doesn't hold.

    @check("give the module a `device_count`")
    def the_device_count_is_the_probes(subject: Subject) -> None:
        expect(torch.accelerator.device_count() == subject.candidate.count, "…")

It may return what it measured, or a `Result`. `Skip` leaves it out with a reason; AssertionError means that the device
does something else than it should; any other exception, or a crash, is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from accelplug.conformance.records import Outcome
from accelplug.conformance.subject import Subject

Function = Callable[[Subject], "dict[str, Any] | Result | None"]


@dataclass(frozen=True)
class Result:
    """What a check returns that has measured something also where it doesn't pass."""

    outcome: Outcome
    why: str
    data: dict[str, Any]


class Skip(Exception):  # noqa: N818
    """The check doesn't apply to this device; the message says why."""


@dataclass(frozen=True)
class NamedCheck:
    """A check as it is run: ``limit`` is in seconds, ``quick`` whether a quick run has it."""

    name: str
    function: Function
    remedy: str
    limit: float = 120.0
    quick: bool = True


def check(remedy: str, *, limit: float = 120.0, quick: bool = True) -> Callable[[Function], Function]:
    """Makes a function a check of its module. ``remedy`` is what to do where it doesn't pass."""

    def mark(function: Function) -> Function:
        name = function.__name__.replace("_", " ").strip()
        listed = sys.modules[function.__module__].__dict__.setdefault("CHECKS", [])
        listed.append(NamedCheck(name, function, remedy, limit, quick))
        return function

    return mark


def expect(holds: bool, otherwise: str) -> None:
    """Raises AssertionError with ``otherwise`` where it doesn't hold. Unlike ``assert`` it is there with -O too."""
    if not holds:
        raise AssertionError(otherwise)


def expect_raises(error: type[BaseException], words: str, action: Callable[[], object]) -> BaseException:
    """The exception of ``action``, which must be an ``error`` whose message has ``words`` in it, in any case.

    Raises AssertionError where it isn't, or where nothing is raised.
    """
    try:
        action()
    except error as raised:
        expect(words.lower() in str(raised).lower(), f"the error doesn't say {words!r}: {raised}")
        return raised
    raise AssertionError(f"nothing was raised; expected {error.__name__} that says {words!r}")
