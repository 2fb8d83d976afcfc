"""Programs that a check runs in an interpreter of their own."""

from __future__ import annotations

import os
import subprocess
import sys

from accelplug.conformance.checks import Skip, expect
from accelplug.conformance.subject import Subject
from accelplug.interpreters import ended, last_lines

PRELUDE = "import sys; sys.path[:] = {path!r}\n"
LIVE = "import accelplug, torch\nD = str(accelplug.select({name!r}))\n"
TAIL = 4  # lines of standard error that a bad end is reported with


class Program:
    """A running interpreter. ``output`` waits for what it prints."""

    def __init__(self, code: str, *arguments: str, live: str = "", **environ: str) -> None:
        """``live`` is the name of a device that is made live before the code, as ``D`` with torch imported."""
        prelude = PRELUDE.format(path=sys.path) + (LIVE.format(name=live) if live else "")
        self._process = subprocess.Popen(
            [sys.executable, "-c", prelude + code, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environ},
        )

    def output(self, limit: float = 60.0, code: int = 0) -> str:
        """What it printed. Raises AssertionError with its last words where it doesn't end in time, with ``code``."""
        said, end = self.until_the_end(limit, code)
        expect(not end, end)
        return said

    def until_the_end(self, limit: float, code: int = 0) -> tuple[str, str]:
        """What it printed, and how it ended with its last words: "" where it did in time, with ``code``."""
        try:
            said, noise = self._process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            self._process.kill()
            said, noise = self._process.communicate()
            return said, f"the process didn't end within {limit:g} s{_tail(noise)}"
        if self._process.returncode == code:
            return said, ""
        return said, ended(self._process.returncode) + _tail(noise)


def output(code: str, *arguments: str, live: str = "", limit: float = 60.0, **environ: str) -> str:
    """Runs a program to its end, which has to be a good one; returns what it printed."""
    return Program(code, *arguments, live=live, **environ).output(limit)


def beside(subject: Subject) -> str:
    """The name of the device for a program that has it while this process does. Raises Skip where that can't be."""
    if subject.exclusive:
        raise Skip("the device can be open in one process only, and the one that checks has it")
    return subject.name


def _tail(noise: str) -> str:
    lines = last_lines(noise, TAIL)
    return "; it said:\n" + "\n".join(lines) if lines else ""
