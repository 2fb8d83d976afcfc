"""What a signal to a command does."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def ended_in_order() -> Iterator[None]:
    """SIGTERM unwinds the command, as Ctrl-C does, so that processes which it has started end with it."""
    before = signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
