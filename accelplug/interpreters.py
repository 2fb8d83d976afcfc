"""Further Python interpreters that run code of accelplug's and answer in lines of JSON: both sides of it.

Foreign code may crash or hang there, and a device is made live there and not here.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import IO, Any

from accelplug.errors import AccelplugError


class EndedError(AccelplugError):
    """An interpreter ended, or was ended, where an answer was due."""


def command(function: str, *arguments: str) -> list[str]:
    """What starts an interpreter that calls ``"module:function"`` with the arguments.

    It gets this one's search path first, so that it finds what this one would.
    """
    module, _, name = function.partition(":")
    given = f"sys.argv[1:{1 + len(arguments)}]"
    code = f"import sys; sys.path[:] = sys.argv[{1 + len(arguments)}:]; from {module} import {name}; {name}(*{given})"
    return [sys.executable, "-c", code, *arguments, *sys.path]


class Interpreter:
    """A running interpreter, for a ``with`` block or with `close` at the end. Threads may `kill` it."""

    def __init__(
        self, function: str, *arguments: str, listens: bool = False, environ: Mapping[str, str] = os.environ
    ) -> None:
        """Calls ``"module:function"`` there, which answers through `voice`. With ``listens`` it can be told lines."""
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            command(function, *arguments),
            stdin=subprocess.PIPE if listens else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=dict(environ),
            start_new_session=True,
        )

    def tell(self, line: str) -> None:
        """Writes a line to its standard input. Raises EndedError where it has ended."""
        assert self._process.stdin is not None, "it was started as one that listens"
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise EndedError(ended(self.end())) from None

    def answer(self, limit: float) -> dict[str, Any]:
        """What it says next. Raises EndedError where it ends instead, or says nothing for ``limit`` seconds."""
        line = self.line(limit)
        if not line:
            raise EndedError(ended(self.end()))
        said: dict[str, Any] = json.loads(line)
        return said

    def line(self, limit: float) -> bytes:
        """Its next line, empty where it has ended. Raises EndedError, and ends it, after ``limit`` seconds."""
        assert self._process.stdout is not None
        overrun = threading.Event()

        def stop() -> None:
            overrun.set()
            self.kill()

        watchdog = threading.Timer(limit, stop)
        watchdog.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        if overrun.is_set():
            raise EndedError(f"took longer than {limit:g} s and was stopped")
        return line

    def end(self) -> int:
        """The code that it ends with, after an end to what it has started and left behind."""
        self.kill()
        return int(self._process.wait())

    def last_words(self, most: int) -> list[str]:
        """The last lines that it wrote to standard error, at most so many."""
        self._errors.seek(0)
        return last_lines(self._errors.read().decode(errors="replace"), most)

    def kill(self) -> None:
        """Ends it and what it has started. One that is ending by itself keeps its own code."""
        if self._process.returncode is None:  # else its number may be another's by now
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Leaves nothing behind, however it went."""
        self.end()
        self._errors.close()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):  # a line that was never read
                    pipe.close()

    def __enter__(self) -> Interpreter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def voice() -> Callable[..., None]:
    """On the other side: ``say(name=value)`` is what `Interpreter.answer` returns there.

    From now on, what SDKs and compilers print goes to standard error.
    """
    answers = os.dup(1)
    os.dup2(2, 1)

    def say(**values: Any) -> None:
        os.write(answers, (json.dumps(values) + "\n").encode())

    return say


def ended(code: int) -> str:
    """How a process ended, in words: ``the process was ended by SIGSEGV``."""
    if code >= 0:
        return f"the process ended with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"the process was ended by {name}"


def last_lines(text: str, most: int) -> list[str]:
    """The end of what a process has written, without the space around it."""
    return text.strip().splitlines()[-most:]
