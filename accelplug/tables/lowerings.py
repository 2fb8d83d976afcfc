"""A device's Inductor lowerings, beside the stock ones and those of other devices.

Inductor asks ``user_lowerings`` before its own table. There is one slot for each operator there, and it isn't in any
cache key. So a slot holds a `Dispatch` that keeps no state: it looks at the table that the graph at hand is compiled
with, and that table's fingerprint covers its lowerings.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from accelplug.errors import CompileRefusedError
from accelplug.tables.decompositions import Table

_lock = threading.Lock()


class Dispatch:
    """Lowers ``op`` as the graph's table says, else as whoever had the slot before, else (None) as Inductor does."""

    def __init__(self, op: Any, before: Callable[..., Any] | None) -> None:
        self.op = op
        self.before = before

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        table = _table()
        lowering = table.lowerings.get(self.op) if table is not None else None
        if table is not None and lowering is not None and table.lowered_on in _device_types(args, kwargs):
            lowered = lowering(*args, **kwargs)
            if lowered is not None:
                return lowered
        return self.before(*args, **kwargs) if self.before is not None else None


def install(table: Table) -> None:
    """Makes Inductor ask for the table's lowerings, and take the operators that the table leaves whole.

    Done anew where another package has taken over a slot since. Raises CompileRefusedError where this torch has no
    such slots.
    """
    import torch
    from torch._inductor import lowering

    with _lock:
        for op in table.whole:
            # Inductor would do this by itself, but not where CI is set: there it insists on the decomposition.
            if op not in lowering.lowerings and not op._schema.is_mutable:
                lowering.make_fallback(op, lowering.require_contiguous, warn=False, get_decomp_fn=lambda: table)
    if not table.lowerings:
        return
    if not hasattr(lowering, "user_lowerings"):
        raise CompileRefusedError(
            f"torch {torch.__version__} can't lower operators for {table.device_type} alone; use torch 2.13 or later"
        )
    with _lock:
        for op in table.lowerings:
            before = lowering.user_lowerings.get(op)
            if not isinstance(before, Dispatch):
                lowering.user_lowerings[op] = Dispatch(op, before)


def _table() -> Table | None:
    """The table of the graph that is being lowered. Subgraphs don't know it; the graph around them does."""
    from torch._inductor.virtualized import V

    graph = V.graph
    while graph is not None:
        if (decompositions := getattr(graph, "get_decomp_fn", None)) is not None:
            table = decompositions()
            return table if isinstance(table, Table) else None
        graph = getattr(graph, "parent", None)
    return None


def _device_types(args: object, kwargs: object) -> set[str]:
    """The device types of a node's arguments; a node without any makes its result on the CPU."""
    return set(_of_arguments(args, kwargs)) or {"cpu"}


def _of_arguments(args: object, kwargs: object) -> Iterator[str]:
    import torch
    from torch._inductor.ir import IRNode
    from torch.utils._pytree import tree_leaves

    for leaf in tree_leaves((args, kwargs)):
        device = leaf.get_device() if isinstance(leaf, IRNode) else leaf
        if isinstance(device, torch.device):
            yield device.type
