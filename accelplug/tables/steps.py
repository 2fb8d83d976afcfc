"""What crosses between host and device in the steps of a server, without its start: weights, profiling, warming up."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from accelplug.specs import StepTransfers, Transfers

CROSSING = ("to_device_calls", "to_device_bytes", "to_host_calls", "to_host_bytes")


class Steps:
    """Counts while a step runs. ``transfers`` are the SDK's counts; None: it has none, and neither has this.

    The counts are of the process: what another thread copies meanwhile is counted with the step.
    """

    def __init__(self, transfers: Callable[[], Transfers] | None) -> None:
        self._transfers = transfers
        self.reset()

    def reset(self) -> None:
        """Begins anew."""
        self._steps = 0
        self._moved = dict.fromkeys(CROSSING, 0)

    @contextlib.contextmanager
    def within(self, *, begins: bool) -> Iterator[None]:
        """Around a part of a step. ``begins`` a step: the others belong to the one that was begun last."""
        if self._transfers is None:
            yield
            return
        before = self._transfers()
        yield
        after = self._transfers()
        self._steps += begins
        for name in CROSSING:
            # A reset in between, from another thread, has set the SDK's counts to 0.
            self._moved[name] += max(0, getattr(after, name) - getattr(before, name))

    def read(self) -> StepTransfers | None:
        """The counts so far, None where there was no step or the SDK counts nothing."""
        return StepTransfers(steps=self._steps, **self._moved) if self._steps else None
