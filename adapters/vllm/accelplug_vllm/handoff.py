"""Hands the choice on to the processes that a server starts: EngineCore, workers (Ray's too), further API servers.

They inherit it in a variable, choose that same device explicitly, and stop if it is not usable for them.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import shutil
import tempfile
from pathlib import Path

from accelplug.settings import PREFIX
from accelplug.specs import Record
from accelplug_vllm import placement

VARIABLE = PREFIX + "SELECTION"


class Handoff(Record):
    """The device that process ``pid`` chose, and the vLLM platform plug-in it left the platform to, if any.

    ``helper_cpus`` are the logical CPUs that EngineCore's compute threads leave to its other threads,
    ``folder`` is where children leave what the server's process reads, "" where it reads nothing. ``off`` has the parts
    of the adapter that don't work with this vLLM, with the reasons; None where nobody has looked.
    """

    device: str
    pid: int
    stands_aside_for: str = ""
    helper_cpus: tuple[int, ...] = ()
    folder: str = ""
    off: dict[str, str] | None = None


def leave(handoff: Handoff) -> None:
    """Leaves the choice for the processes that this one will start."""
    os.environ[VARIABLE] = handoff.model_dump_json()


def left() -> Handoff | None:
    """What this process has left for its children, or has inherited."""
    return Handoff.model_validate_json(os.environ[VARIABLE]) if VARIABLE in os.environ else None


def folder() -> Path | None:
    """Where children leave what the process that started the server reads: counters, and why one can't go on.

    That process makes it when it first asks, before it starts others, and removes it when it ends. None where it
    hasn't asked, or was no server's.
    """
    here = left()
    if here is None:
        return None
    if not here.folder and here.pid == os.getpid():
        here = here.model_copy(update={"folder": tempfile.mkdtemp(prefix="accelplug-")})
        leave(here)
        atexit.register(_remove, here)
    return Path(here.folder) if here.folder else None


def _remove(made: Handoff) -> None:
    """In the process that has made it, and not in one that was forked from it.

    Where another process still writes to it, it stays: nothing that a server should end with an error for.
    """
    if os.getpid() == made.pid:
        shutil.rmtree(made.folder, ignore_errors=True)


def received() -> Handoff | None:
    """The parent's choice, if this process was started by one: through multiprocessing, or as a worker by Ray."""
    return left() if _started_by_another() or placement.received() is not None else None


def _started_by_another() -> bool:
    """Also while a spawned process reads what its parent gave it, when multiprocessing doesn't name the parent yet:
    vLLM's configuration is among that, and reading it asks for the platform."""
    reading = getattr(multiprocessing.current_process(), "_inheriting", False)
    return reading or multiprocessing.parent_process() is not None
