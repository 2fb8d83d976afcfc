"""Finds the processes that a test has started, and those that they have started in turn."""

from __future__ import annotations

import time
import uuid
from pathlib import Path

MARK = "SEVERAL_DEVICES_TEST"


def marks() -> dict[str, str]:
    """What the processes of one test have in their environment. A process that gives itself a title, as vLLM's do,
    writes it over its environment, unless the second is there. Several workers on few cores have a thread each: more
    would wait for one another, spinning."""
    return {MARK: uuid.uuid4().hex, "SPT_NOENV": "1", "OMP_NUM_THREADS": "1"}


def left(mark: dict[str, str]) -> list[str]:
    """The command lines of processes that have the mark in their environment, and keep it for some seconds."""
    deadline = time.monotonic() + 15
    while marked(mark) and time.monotonic() < deadline:
        time.sleep(0.2)
    return [command for command, _ in marked(mark)]


def marked(mark: dict[str, str]) -> list[tuple[str, dict[str, str]]]:
    """Command line and environment of the processes with this mark in it, but those that only wait to be reaped."""
    found = [_process(folder) for folder in Path("/proc").glob("[0-9]*")]
    return [(command, environ) for command, environ in found if command and environ.get(MARK) == mark[MARK]]


def _process(folder: Path) -> tuple[str, dict[str, str]]:
    """Nothing for a process that has ended, or is another user's."""
    try:
        variables = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
        command = (folder / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
    except OSError:
        return "", {}
    return command, dict(variable.partition("=")[::2] for variable in variables)
