"""The progress of long work: a bar on standard error, or nothing where that is no terminal."""

from __future__ import annotations

import sys
import threading
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar


class Progress:
    """The bar, for a ``with`` block. Threads may move it."""

    def __init__(self, starting: str) -> None:
        """``starting`` is what is said until the work does."""
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = Bar(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
        self._task = self._bar.add_task(starting, total=None)
        self._lock = threading.Lock()
        self._ended = self._planned = 0

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bar.stop()

    def at(self, what: str, ended: int, planned: int) -> None:
        """What is being done, how much has been, and how much there is."""
        self._bar.update(self._task, description=what, completed=ended, total=planned or None)

    def advance(self, what: str, ended: int, planned: int) -> None:
        """So much more has ended, and so much more is planned."""
        with self._lock:
            self._ended += ended
            self._planned += planned
            self.at(f"{what:<14}", self._ended, self._planned)
