"""What the report says of the counts: its rows and its notes."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping, Sequence

from accelplug.errors import BadInputError, did_you_mean
from accelplug.specs import Budget, DeviceSpec, FallbackRow, FallbackSource, OpCount

NO_KERNEL = "no kernel on the device"

Why = Callable[[str], str]
"""Operator to why no kernel of the device's took its calls; "" where it has none."""


def reason(op: str, why: Why, said: str = "") -> str:
    """Why the CPU ran ``op``: what the SDK has said of it, else why no kernel took it, else that there is none."""
    return said or why(op) or NO_KERNEL


def rows(counts: Sequence[OpCount], sites: Mapping[tuple[str, bool], str], why: Why) -> tuple[FallbackRow, ...]:
    """What fell back, most bytes first. ``sites`` are by operator, and whether in a compiled graph."""
    fell = [
        FallbackRow(
            op=count.op,
            calls=count.calls,
            bytes=count.bytes,
            nanoseconds=count.nanoseconds,
            device=count.device,
            compiled=count.compiled,
            reason=reason(count.op, why, count.reason),
            site=sites.get((count.op, count.compiled), ""),
        )
        for count in counts
        if not count.native
    ]
    return tuple(sorted(fell, key=lambda row: (-(row.bytes or 0), -(row.nanoseconds or 0), -(row.calls or 0), row.op)))


def native(counts: Sequence[OpCount]) -> tuple[int | None, int | None]:
    """Calls and bytes of what the device ran itself; None where that, or what fell back, isn't counted."""
    if not counts or any(count.calls is None for count in counts):
        return None, None
    own = [count for count in counts if count.native]
    return sum(count.calls or 0 for count in own), sum(count.bytes or 0 for count in own)


def notes(spec: DeviceSpec, source: FallbackSource | None, counts: Sequence[OpCount], timed: bool) -> tuple[str, ...]:
    """What a reader must know to read the numbers right."""
    if source is None:
        if spec.load is None:
            return (f"PyTorch has {spec.torch_type} in tree: where it has no kernel it raises, and nothing falls back",)
        return (f"the SDK of {spec.name} does not count what falls back",)
    said = []
    if any(count.calls is None for count in counts):
        said.append(f"the SDK of {spec.name} names the operators that fell back, and counts nothing")
    if any(count.compiled for count in counts):
        said.append("compiled: from the operators of the graph after decomposition, at each run; no time of their own")
    if source.measure_time is not None and not timed and all(count.nanoseconds is None for count in counts):
        said.append("time is not measured: ACCELPLUG_FALLBACK_TIME=on, or accelplug.fallback(time=True)")
    if spec.stand_in is not None:
        said.append("simulated: what counts as native is the profile's list; nothing of this has run on hardware")
    return tuple(said)


def require_operators(budget: Budget) -> None:
    """Raises BadInputError where no operator matches the budget's pattern: it would never be spent."""
    import torch

    known = torch._C._dispatch_get_all_op_names()
    if not any(fnmatch.fnmatchcase(name, budget.ops) for name in known):
        raise BadInputError(f"budget {budget}: there is no operator {budget.ops!r}{did_you_mean(budget.ops, known)}")
