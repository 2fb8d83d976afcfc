"""Threads that compile the same graph with different tables at once. A program, so that it can be started again.

    python hammer.py WAY KIND...

``WAY`` is how a table gets to Inductor: ``accelplug``, or ``torch``, which is plain torch: the table as an argument of
``compile_fx``. The kinds of work alternate in four threads. On the CPU: ``acme`` with the tables of that backend,
``second`` with a second table, ``lowered`` with PyTorch's table and a lowering, ``stock`` with nothing else. On the
meta device: ``metal`` with the tables of that backend. Prints as JSON what each kind came to, each value once, and how
often the caches had a graph already.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch._dynamo.utils import counters
from torch._inductor.compile_fx import compile_fx
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.lowering import lowerings

import accelplug
from accelplug import tables
from accelplug.compiling import compile_with
from accelplug.specs import Decompositions
from accelplug.tables.decompositions import build

THREADS = 4
ROUNDS = 2
aten = torch.ops.aten


def second_table(x: torch.Tensor) -> torch.Tensor:
    return aten.kthvalue.default(x, 2)[0]


def fourth_lowered(x: Any) -> Any:
    return lowerings[aten.kthvalue.default](x, 4)[0]


def plain(table: dict[Any, Callable[..., Any]]) -> Callable[..., Any]:
    return lambda graph, inputs: compile_fx(graph, inputs, decompositions=dict(table))


def backends(way: str) -> dict[str, tuple[Any, str]]:
    """For each kind of work the Dynamo backend and the device."""
    second = build("cpu", Decompositions(add={aten.median.default: second_table}), origin="hammer")
    own = tables.tables_for("cpu").decompositions()
    kinds: dict[str, tuple[Any, str]] = {"metal": ("accelplug", "meta"), "stock": ("inductor", "cpu")}
    if way == "torch":
        return {**kinds, "acme": (plain(own), "cpu"), "second": (plain(second), "cpu")}
    lowered = build("cpu", Decompositions(lowerings={aten.median.default: fourth_lowered}), origin="hammer")
    for name, table in (("second", second), ("lowered", lowered)):
        kinds[name] = functools.partial(compile_with, table), "cpu"
    return {**kinds, "acme": ("accelplug", "cpu")}


def function(number: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """A function of its own for Dynamo, with the same graph as all others."""
    namespace: dict[str, Any] = {}
    exec(f"def f{number}(x): return x.median()", namespace)
    return namespace[f"f{number}"]


def main(way: str, names: list[str]) -> None:
    from metal_backend import SEEN

    accelplug.select("acme")
    before = dict(select_decomp_table()), dict(lowerings)
    kinds = backends(way)
    values: dict[str, set[object]] = {name: set() for name in names}

    def work(thread: int) -> None:
        for turn in range(ROUNDS * len(names)):
            name = names[(thread + turn) % len(names)]
            backend, device = kinds[name]
            x = torch.tensor([5.0, 1.0, 3.0, 7.0, 2.0], device=device)
            result = torch.compile(function(thread * 1000 + turn), backend=backend)(x)
            values[name].add(result.item() if device == "cpu" else str(result.shape))

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    if "metal" in names:
        values["metal"] = {operator for operators, _ in SEEN for operator in operators if operator.startswith("aten")}
    report = {name: sorted(found, key=str) for name, found in values.items()}
    hits = {
        "aot_hits": counters["aot_autograd"]["autograd_cache_hit"],
        "aot_misses": counters["aot_autograd"]["autograd_cache_miss"],
        "fx_bypassed": counters["inductor"]["fxgraph_cache_bypass"],
        "global_tables_unchanged": before == (dict(select_decomp_table()), dict(lowerings)),
    }
    print(json.dumps({**report, **hits}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
