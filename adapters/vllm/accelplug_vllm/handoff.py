"""Hands the choice on to the processes that a server starts: EngineCore, workers, further API servers.

They inherit it in a variable, choose that same device explicitly, and stop if it is not usable for them.
"""

from __future__ import annotations

import multiprocessing
import os

from accelplug.settings import PREFIX
from accelplug.specs import Record

VARIABLE = PREFIX + "SELECTION"


class Handoff(Record):
    """The device that process ``pid`` chose, and the vLLM platform plug-in it left the platform to, if any.

    ``helper_cpus`` are the logical CPUs that EngineCore's compute threads leave to its other threads. ``counts`` is
    the folder that workers write what they count to; "" where nobody asks.
    """

    device: str
    pid: int
    stands_aside_for: str = ""
    helper_cpus: tuple[int, ...] = ()
    counts: str = ""


def leave(handoff: Handoff) -> None:
    """Leaves the choice for the processes that this one will start."""
    os.environ[VARIABLE] = handoff.model_dump_json()


def left() -> Handoff | None:
    """What this process has left for its children, or has inherited."""
    return Handoff.model_validate_json(os.environ[VARIABLE]) if VARIABLE in os.environ else None


def received() -> Handoff | None:
    """The parent's choice, if this process was started by one through multiprocessing."""
    return None if multiprocessing.parent_process() is None else left()
