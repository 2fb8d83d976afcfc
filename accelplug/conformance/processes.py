"""Runs a task in a process of its own, and goes on behind a check that crashes or hangs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from accelplug.conformance.records import Check, Outcome
from accelplug.conformance.task import Task
from accelplug.interpreters import EndedError, Interpreter, ended

WORKER = "accelplug.conformance.worker:main"
START_LIMIT = 180.0  # seconds until the plan is there: torch, the SDK and PyTorch's samples are imported
END_LIMIT = 60.0  # seconds that a process may take to end after its last check
MOST_CRASHES = 30
TAIL = 8  # lines of standard error that a crash is reported with

Seen = Callable[[Check], None]
REPORT_CRASH = "run it alone: accelplug conform {device} --area {area} --only {name!r}; a debugger has the rest"


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
            except EndedError as error:
                add(_crash(task, process, str(error)))
                if process.checking is None:
                    return checks  # it doesn't start, or doesn't end: nothing is left to go on with
                task = task.model_copy(update={"done": tuple(check.name for check in checks)})
            finally:
                process.interpreter.close()
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
                process.interpreter.kill()

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
        environ = {**os.environ, "OMP_NUM_THREADS": str(task.threads)}
        self.interpreter = Interpreter(WORKER, task.model_dump_json(), environ=environ)

    def plan(self) -> dict[str, float]:
        """The names of the checks and the seconds that each may take."""
        plan: dict[str, float] = self.interpreter.answer(START_LIMIT)["plan"]
        self.ready = True
        return plan

    def follow(self, plan: dict[str, float], add: Seen) -> None:
        """Passes on each check as it ends. Raises EndedError where the process ends before it should, or badly."""
        while True:
            event = self.interpreter.answer(plan[self.checking] if self.checking else END_LIMIT)
            if "start" in event:
                self.checking = event["start"]
                self.since = time.perf_counter()
            elif "check" in event:
                self.checking = None
                add(Check.model_validate(event["check"]))
            else:
                break
        self.since = time.perf_counter()
        if self.interpreter.line(END_LIMIT):
            raise EndedError("the process said more after its end")
        if code := self.interpreter.end():
            raise EndedError(f"after its last check {ended(code)}")

    def last_words(self) -> str:
        """The last lines of what the process wrote to standard error, as a paragraph of its own."""
        return "".join(f"\n{line}" for line in self.interpreter.last_words(TAIL))
