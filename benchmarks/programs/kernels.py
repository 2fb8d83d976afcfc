"""What choosing a kernel costs each call, in nanoseconds, all side by side in one process.

`python kernels.py RESULT` writes RESULT, a JSON object. Two things are called. ``aten::abs`` in the place of
``aten::neg``: a kernel in C++ that does the same work by either way. And a function of Python's that returns a tensor
it has, so that nothing but the way to it is measured. On the CPU, one thread, tensors of four elements.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from accelplug.specs import Kernel, Level, TensorRule
from accelplug.tables import dispatch, predicate

CALLS = 500
ROUNDS = 200
SMALL, ODD = torch.ones(4), torch.ones(3)
RESULT = torch.ones(4)


def in_turn(ways: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Nanoseconds a call: the least of many rounds, each of which has every way once. What disturbs only adds."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, call in ways.items():
            start = time.perf_counter_ns()
            for _ in range(CALLS):
                call()
            times[name].append((time.perf_counter_ns() - start) / CALLS)
    return {name: min(measured) for name, measured in times.items()}


def take_over(op: str, kernel: str) -> None:
    """Calls of ``op`` on the CPU go to ``kernel``, where their last dimension is a multiple of four."""
    rule = TensorRule(dtypes=("float32",), ranks=(1,), multiples={-1: 4}, contiguous=True)
    record = Kernel(
        op=op,
        provider="bench",
        name="one",
        level=Level.tile,
        load=lambda: torch.abs,
        reference=torch.abs,
        accepts={"*": rule},
    )
    (schema,) = torch._C._jit_get_schemas_for_operator(op)[:1]
    ops = dispatch.ops()
    number = ops.add_kernel(kernel, "", "", *predicate.encoded(predicate.clauses(record, schema)))
    ops.set_order(ops.take_over(op, "", "CPU"), 0, [number])


def python_function(x: torch.Tensor) -> torch.Tensor:
    return RESULT


def main(result: str) -> None:
    torch.set_num_threads(1)
    if not dispatch.available():
        sys.exit("the table of kernels can't be built; the log says why")
    aten = torch.ops.aten
    with torch.inference_mode():
        plain = in_turn({"untouched": lambda: aten.neg.default(ODD)})
        take_over("aten::neg", "aten::abs")
        native = in_turn(
            {
                "direct": lambda: aten.abs.default(SMALL),
                "table": lambda: aten.neg.default(SMALL),
                "rejected": lambda: aten.neg.default(ODD),
            }
        )
        ways = {"function": lambda: python_function(SMALL), **python_ways()}
        python = in_turn(ways)
    values = {
        "table_ns": native["table"] - native["direct"],
        "rejected_ns": native["rejected"] - plain["untouched"],
        **{f"{name}_ns": measured - python["function"] for name, measured in python.items() if name != "function"},
    }
    Path(result).write_text(json.dumps(values))


def python_ways() -> dict[str, Callable[[], object]]:
    """The same function as a kernel in a table, as a custom operator of PyTorch's, and as a provider of vLLM's."""
    library = torch.library.Library("accelplug_bench", "DEF")
    for name in ("target", "kernel"):
        library.define(f"{name}(Tensor x) -> Tensor")
        library.impl(name, python_function, "CPU")
    take_over("accelplug_bench::target", "accelplug_bench::kernel")
    _kept.append(library)

    custom = torch.library.custom_op("accelplug_bench::custom", python_function, mutates_args=())

    from vllm.ir.op import register_op

    @register_op  # type: ignore[untyped-decorator]
    def accelplug_bench(x: torch.Tensor) -> torch.Tensor:
        return RESULT

    provider = accelplug_bench.register_impl("bench", supports_args=lambda x: x.shape[-1] % 4 == 0)
    provider(python_function)
    accelplug_bench.set_default(["bench"])
    target = torch.ops.accelplug_bench.target.default
    return {
        "python_table": lambda: target(SMALL),
        "custom_op": lambda: custom(SMALL),
        "vllm_ir": lambda: accelplug_bench(SMALL),
    }


_kept: list[torch.library.Library] = []

if __name__ == "__main__":
    main(sys.argv[1])
