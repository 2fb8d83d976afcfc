"""The limits of a device, measured: how fast it copies, how fast it multiplies matrices, what a call costs."""

from __future__ import annotations

from collections.abc import Callable

import torch

from accelplug.bench import timing
from accelplug.bench.records import Roofline
from accelplug.bench.workloads import Place

COPIED = 2**28  # bytes, which is more than caches hold
SMALLEST, LARGEST = 512, 8192  # rows of a square matrix
LONG_ENOUGH = 0.02  # seconds: a product that takes so long is large enough to be at the limit


def roofline(place: Place, wait: Callable[[], None]) -> Roofline:
    """Measures the limits for the dtype of ``place``. Raises what the device raises where it can't."""
    return Roofline(
        bytes_per_second=_copy(place, wait),
        flops_per_second=_product(place, wait),
        call_seconds=_smallest_call(place, wait),
    )


def _copy(place: Place, wait: Callable[[], None]) -> float:
    source = torch.zeros(COPIED // place.dtype.itemsize, dtype=place.dtype).to(place.device)
    target = torch.empty_like(source)
    return 2 * COPIED / timing.seconds(lambda: target.copy_(source), wait)


def _product(place: Place, wait: Callable[[], None]) -> float:
    """Of the sizes up to the first that takes long enough, the best."""
    best, rows = 0.0, SMALLEST
    while rows <= LARGEST:
        left, right = place.normal(rows, rows), place.normal(rows, rows)
        taken = timing.seconds(lambda left=left, right=right: left @ right, wait)  # type: ignore[misc]
        best = max(best, 2 * rows**3 / taken)
        if taken > LONG_ENOUGH:
            break
        rows *= 2
    return best


def _smallest_call(place: Place, wait: Callable[[], None]) -> float:
    one = place.normal(1)
    return timing.seconds(lambda: one + one, wait)
