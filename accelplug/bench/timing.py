"""How long a call takes on a device. Calls are made without waiting for each, as a server makes them."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

from accelplug.bench.workloads import Call

BATCH = 0.01  # seconds that a batch of calls takes at least: far above the clock's resolution and a synchronisation
BATCHES = 5


def first(call: Call, wait: Callable[[], None]) -> float:
    """Seconds of one call that nothing was made ready for."""
    return _batch(call, wait, 1)


def seconds(call: Call, wait: Callable[[], None]) -> float:
    """Seconds of a call: the median of some batches, each of so many calls that it can be measured."""
    number, taken = 1, _batch(call, wait, 1)
    while taken < BATCH:
        number = max(number + 1, min(number * 10, round(1.2 * number * BATCH / max(taken, 1e-9))))
        taken = _batch(call, wait, number)
    return median([taken, *(_batch(call, wait, number) for _ in range(BATCHES - 1))]) / number


def _batch(call: Call, wait: Callable[[], None], number: int) -> float:
    wait()
    started = time.perf_counter()
    for _ in range(number):
        call()
    wait()
    return time.perf_counter() - started
