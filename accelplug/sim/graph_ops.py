"""The ops of a graph, for the account: compiled code makes no calls, so each run of a graph counts its list.

The list is that of the graph after decomposition. It travels with the compiled code into torch's caches.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from accelplug import call_site
from accelplug.specs.kernel import NAMESPACE as KERNELS

aten, prims = torch.ops.aten, torch.ops.prims

# What makes memory or copies: the device does so itself, and eagerly the simulator has kernels of its own for it.
OWN = (
    *(aten.empty, aten.empty_strided, aten.resize_, aten.set_),
    *(aten.copy_, aten.copy, aten.clone, aten._to_copy, prims.convert_element_type, prims.device_put),
)

NOWHERE = "a compiled graph"  # where an op is of which no line is known


@dataclass(frozen=True)
class GraphOp:
    """One op on one device: calls and bytes of one run of the graph, and where in the user's code the first is."""

    name: str
    device: int
    calls: int
    bytes: int
    site: str


class GraphOps:
    """The ops of one graph, to be counted at each run."""

    def __init__(self, ops: Iterable[GraphOp]) -> None:
        self.ops = tuple(ops)
        self._number: int | None = None  # this process's, from the first run on

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Counts one run, inside of which the graph runs. Raises what the ledger's policy and budgets say of it."""
        if not self.ops:
            yield
            return
        if self._number is None:
            self._number = self._add()
        ops = torch.ops.accelplug_sim
        ops.count_graph.default(self._number)
        began = ops.began.default()
        yield
        if began:
            ops.graph_ran.default(self._number, began)

    def _add(self) -> int:
        numbers = [number for op in self.ops for number in (op.device, op.calls, op.bytes)]
        names, sites = [op.name for op in self.ops], [op.site for op in self.ops]
        return int(torch.ops.accelplug_sim.add_graph.default(names, numbers, sites))

    def __reduce__(self) -> tuple[type[GraphOps], tuple[tuple[GraphOp, ...]]]:
        return GraphOps, (self.ops,)


def listed(graph: torch.fx.GraphModule, device_type: str) -> GraphOps:
    """What ``graph`` does on ``device_type``, to be asked before the graph is moved. Subgraphs are left out: how often
    they run isn't known."""
    calls: Counter[tuple[str, int]] = Counter()
    moved: Counter[tuple[str, int]] = Counter()
    sites: dict[tuple[str, int], str] = {}
    for node in graph.graph.nodes:
        if not _counts(node):
            continue
        tensors = _tensors(node, device_type)
        if tensors:
            key = (node.target.name(), tensors[0].device.index or 0)
            calls[key] += 1
            moved[key] += sum(map(_bytes, tensors))
            sites.setdefault(key, call_site.in_trace(node.meta.get("stack_trace") or "") or NOWHERE)
    return GraphOps(GraphOp(*key, calls[key], moved[key], sites[key]) for key in calls)


def _counts(node: torch.fx.Node) -> bool:
    op = node.target
    if not isinstance(op, torch._ops.OpOverload) or op.namespace == KERNELS:  # a backend's kernel is the device's own
        return False
    return not op.is_view and op.overloadpacket not in OWN


def _tensors(node: torch.fx.Node, device_type: str) -> list[torch.Tensor]:
    """Operands and results on the device."""
    values = [operand.meta.get("val") for operand in node.all_input_nodes]
    leaves = tree_leaves([*values, node.meta.get("val")])
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.device.type == device_type]


def _bytes(tensor: torch.Tensor) -> int:
    """Of a symbolic shape, those of the shape that it was compiled with."""
    elements = 1
    for size in tensor.shape:
        elements *= _number(size)
    return elements * int(tensor.dtype.itemsize)


def _number(size: Any) -> int:
    return int(size) if isinstance(size, int) else int(size.node.hint or 0)
