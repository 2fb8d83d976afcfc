"""The simulated device's account of what ran on the CPU in its place: `csrc/counters.h`, `ledger.h` and `graphs.h`.

torch is imported when something is asked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from accelplug.specs import Budget, FallbackSource, OpCount, Transfers, Watcher

FIELDS = 6  # numbers of each op that read_counters has

_lock = threading.Lock()  # a budget may be exceeded while it is being set
_budgets: dict[int, Budget] = {}  # by the library's number, which is used again
_library: Any = None  # kept: its registrations go when it does


def read() -> list[OpCount]:
    """The counts since the last reset. What compiled graphs ran has no time of its own."""
    names, values = _ops().read_counters()
    found = []
    for number, name in enumerate(names):
        device, compiled, native, calls, moved, nanoseconds = values[FIELDS * number : FIELDS * (number + 1)]
        found.append(
            OpCount(
                op=name,
                native=bool(native),
                calls=calls,
                bytes=moved,
                nanoseconds=nanoseconds or None,
                device=device,
                compiled=bool(compiled),
            )
        )
    return found


def reset() -> None:
    """Sets all counts to zero."""
    _ops().reset_counters()


def transfers() -> Transfers:
    """The copies since the last reset."""
    return Transfers(**dict(zip(Transfers.model_fields, _ops().read_transfers(), strict=True)))


def measure_time(on: bool) -> None:
    """Measures each call's time, or not."""
    _ops().measure_time(on)


def forbid(forbidden: bool) -> None:
    """Refuses what the profile doesn't call native."""
    _ops().forbid_fallback(forbidden)


def limit(budget: Budget) -> Callable[[], None]:
    """Sets a budget; returns what lifts it. Raises ValueError where there are 64 already."""
    of_calls = budget.unit == "calls"
    ops = _ops()
    with _lock:
        number = ops.add_budget(budget.ops, budget.limit if of_calls else -1, -1 if of_calls else budget.limit)
        _budgets[number] = budget

    def lift() -> None:
        ops.remove_budget(number)

    return lift


def watch(watcher: Watcher) -> None:
    """Tells ``watcher`` from now on, in the place of one before."""
    global _library
    import torch

    _ops().listen(False)
    _library = torch.library.Library("accelplug_sim", "IMPL")

    def refused(op: str, device: int, budget: int, spent: int, site: str) -> None:
        with _lock:
            exceeded = _budgets[budget] if budget >= 0 else None
        raise watcher.refused(op, device, exceeded, spent, site)

    _library.impl("fallback_noticed", watcher.noticed, "CompositeExplicitAutograd")
    _library.impl("fallback_refused", refused, "CompositeExplicitAutograd")
    _ops().listen(True)


def _ops() -> Any:
    import torch

    return torch.ops.accelplug_sim


SOURCE = FallbackSource(
    read=read,
    reset=reset,
    transfers=transfers,
    measure_time=measure_time,
    watch=watch,
    forbid=forbid,
    limit=limit,
)
