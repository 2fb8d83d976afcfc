"""Hands the choice on to the processes that a server starts: EngineCore, workers (Ray's too), further API servers.

They inherit it in a variable, choose that same device explicitly, and stop if it is not usable for them.
"""

from __future__ import annotations

import multiprocessing
import os

from accelplug.settings import PREFIX
from accelplug.specs import Record
from accelplug_vllm import placement

VARIABLE = PREFIX + "SELECTION"


class Handoff(Record):
    """The device that process ``pid`` chose, and the vLLM platform plug-in it left the platform to, if any.

    ``helper_cpus`` are the logical CPUs that EngineCore's compute threads leave to its other threads,
    ``metrics_folder`` is where children write their counters for the server's metrics, "" where nobody reads them.
    ``off`` has the parts of the adapter that don't work with this vLLM, with the reasons; None where nobody has looked.
    """

    device: str
    pid: int
    stands_aside_for: str = ""
    helper_cpus: tuple[int, ...] = ()
    metrics_folder: str = ""
    off: dict[str, str] | None = None


def leave(handoff: Handoff) -> None:
    """Leaves the choice for the processes that this one will start."""
    os.environ[VARIABLE] = handoff.model_dump_json()


def left() -> Handoff | None:
    """What this process has left for its children, or has inherited."""
    return Handoff.model_validate_json(os.environ[VARIABLE]) if VARIABLE in os.environ else None


def received() -> Handoff | None:
    """The parent's choice, if this process was started by one: through multiprocessing, or as a worker by Ray."""
    return left() if _started_by_another() or placement.received() is not None else None


def _started_by_another() -> bool:
    """Also while a spawned process reads what its parent gave it, when multiprocessing doesn't name the parent yet:
    vLLM's configuration is among that, and reading it asks for the platform."""
    reading = getattr(multiprocessing.current_process(), "_inheriting", False)
    return reading or multiprocessing.parent_process() is not None
