"""What an operator costs that falls back to the CPU: with the ledger on and off, and beside PyTorch's own fallback."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from benchmarks import measuring
from benchmarks.machine import versions
from benchmarks.records import Run
from benchmarks.suite import Metric, Promise, Suite, Workload

TIMEOUT = 300.0  # seconds for one process; the first may build the simulator
CPU, OFF, ON, BUDGET = "on the CPU itself", "policy allow", "policy warn, timed", "a budget of calls and of bytes"
STOCK = "at::native::cpu_fallback"
MODES = {CPU: "cpu", OFF: "allow", ON: "warn", BUDGET: "budget", STOCK: "stock"}


def measure(variant: str, number: int) -> Run:
    """One process."""
    found = measuring.measured("fallback_calls.py", MODES[variant], environ={}, timeout=TIMEOUT)
    return measuring.run(variant, number, found)


@contextlib.contextmanager
def prepare(quick: bool) -> Iterator[Workload]:
    measure(OFF, 0)  # once for nothing: the simulator is built
    yield Workload(measure, versions(("accelplug", "torch")))


SUITE = Suite(
    name="fallbacks",
    title="An operator that falls back",
    about="`x.neg()` of 16 floats in inference mode, one thread, on a simulated device on which nothing is native. "
    "PyTorch's own fallback copies the operands to the CPU and the result back; the simulator lends their bytes.",
    variants=tuple(MODES),
    metrics=(Metric("call_ns", "a call, ns", 0),),
    comparisons=((OFF, CPU), (ON, OFF), (BUDGET, OFF), (STOCK, OFF)),
    prepare=prepare,
    promises=(
        Promise("The ledger with warnings and time, over that without", "call_ns", ON, OFF, at_most=1.1),
        Promise("PyTorch's own fallback, over the simulator's", "call_ns", STOCK, OFF, at_least=2),
    ),
)
