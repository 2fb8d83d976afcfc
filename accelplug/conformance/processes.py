"""Runs a task in a process of its own, and goes on behind a check that crashes or hangs."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import IO, Any

from accelplug.conformance.records import Check, Outcome
from accelplug.conformance.task import Task

# The same search path first, so that the process finds what this one would.
WORKER = "import sys; sys.path[:] = sys.argv[2:]; from accelplug.conformance.worker import main; main(sys.argv[1])"
START_LIMIT = 180.0  # seconds until the plan is there: torch, the SDK and PyTorch's samples are imported
END_LIMIT = 60.0  # seconds that a process may take to end after its last check
MOST_CRASHES = 30
TAIL = 8  # lines of standard error that a crash is reported with

Seen = Callable[[Check], None]
REPORT_CRASH = "run it alone: accelplug conform {device} --area {area} --only {name!r}; a debugger has the rest"


class Stopped(Exception):  # noqa: N818
    """The process ended, or was ended, before it was done."""


class Crew:
    """Runs tasks, from several threads at a time if need be, until it is told to `stop`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopped = False
        self._at_work: set[_Process] = set()

    def run(self, task: Task, planned: Callable[[int], None], seen: Seen) -> list[Check]:
        """All checks of the task. ``planned`` is told how many there are, ``seen`` each one when it has ended."""
        checks: list[Check] = []

        def add(check: Check) -> None:
            checks.append(check)
            seen(check)

        for attempt in range(MOST_CRASHES):
            process = self._start(task)
            try:
                plan = process.plan()
                if attempt == 0:
                    planned(len(plan))
                process.follow(plan, add)
                return checks
            except Stopped as stopped:
                add(_crash(task, process, str(stopped)))
                if process.checking is None:
                    return checks  # it doesn't start, or doesn't end: nothing is left to go on with
                task = task.model_copy(update={"done": tuple(check.name for check in checks)})
            finally:
                process.close()
                with self._lock:
                    self._at_work.discard(process)
        why = f"given up after {MOST_CRASHES} crashes; the checks behind the last one were not run"
        add(Check(area=task.area, name="the checks can be run", outcome=Outcome.error, why=why))
        return checks

    def stop(self) -> None:
        """Ends what is at work. `run` raises KeyboardInterrupt in the threads that go on to a further process."""
        with self._lock:
            self._stopped = True
            for process in self._at_work:
                process.kill()

    def _start(self, task: Task) -> _Process:
        with self._lock:
            if self._stopped:
                raise KeyboardInterrupt
            process = _Process(task)
            self._at_work.add(process)
            return process


def _crash(task: Task, process: _Process, why: str) -> Check:
    name = process.checking or ("the process of the checks starts" if not process.ready else "the process ends well")
    return Check(
        area=task.area,
        name=name,
        outcome=Outcome.error,
        why=f"{why}{process.last_words()}",
        remedy=REPORT_CRASH.format(device=task.device, area=task.area, name=process.checking or "*"),
        seconds=round(time.perf_counter() - process.since, 4),
    )


class _Process:
    """One worker. ``checking`` is the check that it is at, ``ready`` whether it got as far as its plan."""

    def __init__(self, task: Task) -> None:
        self.checking: str | None = None
        self.ready = False
        self.since = time.perf_counter()
        self._noise: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-c", WORKER, task.model_dump_json(), *sys.path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._noise,
            env={**os.environ, "OMP_NUM_THREADS": str(task.threads)},
            start_new_session=True,
        )

    def plan(self) -> dict[str, float]:
        """The names of the checks and the seconds that each may take."""
        plan: dict[str, float] = self._next(START_LIMIT)["plan"]
        self.ready = True
        return plan

    def follow(self, plan: dict[str, float], add: Seen) -> None:
        """Passes on each check as it ends. Raises Stopped where the process ends before it should, or badly."""
        while True:
            event = self._next(plan[self.checking] if self.checking else END_LIMIT)
            if "start" in event:
                self.checking = event["start"]
                self.since = time.perf_counter()
            elif "check" in event:
                self.checking = None
                add(Check.model_validate(event["check"]))
            else:
                break
        self.since = time.perf_counter()
        if self._read(END_LIMIT):
            raise Stopped("the process said more after its end")
        if code := self._end():
            raise Stopped(f"after its last check {ended(code)}")

    def _next(self, limit: float) -> dict[str, Any]:
        """The next event. Raises Stopped where the process ends instead."""
        line = self._read(limit)
        if not line:
            raise Stopped(ended(self._end()))
        event: dict[str, Any] = json.loads(line)
        return event

    def _read(self, limit: float) -> bytes:
        """The next line, "" where the process has ended. Raises Stopped where neither comes within the limit."""
        assert self._process.stdout is not None
        overrun = threading.Event()

        def end() -> None:
            overrun.set()
            self.kill()

        watchdog = threading.Timer(limit, end)
        watchdog.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        if overrun.is_set():
            raise Stopped(f"took longer than {limit:g} s and was stopped")
        return line

    def _end(self) -> int:
        """The code of a process that is ending, after an end to what it has started and left behind."""
        self.kill()
        return int(self._process.wait())

    def last_words(self) -> str:
        """The last lines of what the process wrote to standard error, as a paragraph of its own."""
        self._noise.seek(0)
        lines = self._noise.read().decode(errors="replace").strip().splitlines()[-TAIL:]
        return "\n" + "\n".join(lines) if lines else ""

    def close(self) -> None:
        """Leaves nothing behind, however it went."""
        self._end()
        self._noise.close()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def kill(self) -> None:
        """Ends the process and what it has started. One that is ending by itself keeps its own code."""
        if self._process.returncode is None:  # else its number may be another's by now
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)


def ended(code: int) -> str:
    """How a process ended, in words: ``the process was ended by SIGSEGV``."""
    if code >= 0:
        return f"the process ended with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"the process was ended by {name}"
