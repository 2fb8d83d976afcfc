"""Processes that tests start: the environment they get, how long they may take, and whether one has ended."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., subprocess.CompletedProcess[str]]  # a fixture that runs something: arguments, then variables
PATIENCE = 300  # seconds after which a process is taken to hang, also on a slow machine


def environment(**changes: str) -> dict[str, str]:
    """This process's environment with changes. PYTHONPATH comes before the one there is, which may have accelplug."""
    if outer := os.environ.get("PYTHONPATH"):
        changes["PYTHONPATH"] = os.pathsep.join(filter(None, [changes.get("PYTHONPATH"), outer]))
    return {**os.environ, **changes}


def ends(pid: int) -> bool:
    """Whether a process ends within seconds; one that nobody has collected yet has ended."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if _state(pid) == "Z":
            return True
        time.sleep(0.1)
    return False


def _state(pid: int) -> str:
    """What Linux says of a process; nothing where it has just ended, or the system has no /proc."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""
