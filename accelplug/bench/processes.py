"""A measuring process seen from outside: what it plans, and what it answers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from types import TracebackType
from typing import IO, Any

from accelplug.bench.task import Request, Task
from accelplug.conformance.processes import ended
from accelplug.errors import AccelplugError

# The same search path first, so that the process finds what this one would.
WORKER = "import sys; sys.path[:] = sys.argv[2:]; from accelplug.bench.worker import main; main(sys.argv[1])"
LIMIT = 900.0  # seconds for an answer: a device may compile a layer before it runs
TAIL = 4  # lines of standard error that an end is reported with


class EndedError(AccelplugError):
    """The process ended, or was ended, where an answer was due."""


class Worker:
    """One process that measures on one device. Use it in a ``with`` block; ``plan`` is there from the start.

    Raises EndedError where the device can't be made live.
    """

    def __init__(self, task: Task) -> None:
        self.device = task.device
        self._noise: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-c", WORKER, task.model_dump_json(), *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._noise,
            start_new_session=True,
        )
        try:
            self.plan: list[tuple[str, str]] = [(step, name) for step, name in self._answer()["plan"]]
        except EndedError:
            self.close()
            raise

    def ask(self, request: Request) -> dict[str, Any]:
        """The answer to a request: ``measured`` or ``roofline``, else ``error``. Raises EndedError without one."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(request.model_dump_json().encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise EndedError(self._end()) from None
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        overrun = threading.Event()

        def stop() -> None:
            overrun.set()
            self._kill()

        watchdog = threading.Timer(LIMIT, stop)
        watchdog.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        if overrun.is_set():
            raise EndedError(f"it took longer than {LIMIT:g} s and was stopped")
        if not line:
            raise EndedError(self._end())
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _end(self) -> str:
        """How it ended, with its last words."""
        code = self._process.wait()
        self._noise.seek(0)
        lines = self._noise.read().decode(errors="replace").strip().splitlines()[-TAIL:]
        return ended(code) + (": " + "; ".join(lines) if lines else "")

    def close(self) -> None:
        """Ends the process and what it has started."""
        self._kill()
        self._process.wait()
        self._noise.close()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):  # a request that was never read
                    pipe.close()

    def _kill(self) -> None:
        if self._process.returncode is None:  # else its number may be another's by now
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
