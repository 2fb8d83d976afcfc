"""A measuring process seen from outside: what it plans, and what it answers."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from accelplug.bench.task import Request, Task
from accelplug.interpreters import EndedError, Interpreter

WORKER = "accelplug.bench.worker:main"
LIMIT = 900.0  # seconds for an answer: a device may compile a layer before it runs
TAIL = 4  # lines of standard error that an end is reported with


class Worker:
    """One process that measures on one device. Use it in a ``with`` block; ``plan`` is there from the start.

    Raises EndedError where the device can't be made live.
    """

    def __init__(self, task: Task) -> None:
        self._process = Interpreter(WORKER, task.model_dump_json(), listens=True)
        try:
            self.plan: list[tuple[str, str]] = [(step, name) for step, name in self._answer()["plan"]]
        except EndedError:
            self._process.close()
            raise

    def ask(self, request: Request) -> dict[str, Any]:
        """The answer to a request: ``measured`` or ``roofline``, else ``error``. Raises EndedError without one."""
        return self._answer(request.model_dump_json())

    def _answer(self, request: str = "") -> dict[str, Any]:
        try:
            if request:
                self._process.tell(request)
            return self._process.answer(LIMIT)
        except EndedError as error:
            words = "; ".join(self._process.last_words(TAIL))
            raise EndedError(f"{error}{f': {words}' if words else ''}") from None

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.close()
