"""What choosing a kernel costs a call, beside vLLM's and PyTorch's ways to have an operator of one's own."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator

from benchmarks import measuring
from benchmarks.machine import versions
from benchmarks.records import Run
from benchmarks.suite import Metric, Promise, Suite, Workload

TIMEOUT = 300.0  # seconds, with building the table's library
TABLE, REJECTED = "a kernel in C++, through accelplug's table", "a call that the table refuses"
PYTHON = "a kernel in Python, through accelplug's table"
CUSTOM_OP, VLLM_IR = "torch.library.custom_op", "vllm.ir"
VALUES = {
    TABLE: "table_ns",
    REJECTED: "rejected_ns",
    PYTHON: "python_table_ns",
    CUSTOM_OP: "custom_op_ns",
    VLLM_IR: "vllm_ir_ns",
}


@functools.cache
def measured(number: int) -> dict[str, float]:
    """One process measures all of them side by side, once in each round."""
    return measuring.measured("kernels.py", environ={}, timeout=TIMEOUT)


def measure(variant: str, number: int) -> Run:
    return Run(variant=variant, round=number, values={"ns": measured(number)[VALUES[variant]]})


@contextlib.contextmanager
def prepare(quick: bool) -> Iterator[Workload]:
    measured.cache_clear()
    measured(-1)  # once for nothing: the library is built, bytecode is compiled
    yield Workload(measure, versions(("accelplug", "torch", "vllm")))


SUITE = Suite(
    name="kernels",
    title="Choosing a kernel",
    about="Nanoseconds that a call costs more than calling the same kernel, or the same Python function, directly, on "
    "the CPU with one thread. Refused: more than the operator without a table. The three ways with a function in "
    "Python return a tensor that is there; accelplug's and vLLM's look at the call's shape before.",
    variants=tuple(VALUES),
    metrics=(Metric("ns", "over a direct call, ns", 0),),
    comparisons=((CUSTOM_OP, PYTHON), (VLLM_IR, PYTHON)),
    prepare=prepare,
    promises=(
        Promise("a call through the table over a direct one, ns", "ns", TABLE, at_most=150),
        Promise("a call that the table refuses, ns", "ns", REJECTED, at_most=100),
    ),
)
