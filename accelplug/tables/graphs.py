"""Which devices a graph is on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def device_types(graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> frozenset[str]:
    """The device types of inputs, constants and results: a graph may make all its tensors itself."""
    return frozenset(_device_types(graph, example_inputs))


def _device_types(graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Iterator[str]:
    import torch
    from torch.utils._pytree import tree_leaves

    values = [*example_inputs, *graph.parameters(), *graph.buffers()]
    for node in (node for module in graph.modules() if hasattr(module, "graph") for node in module.graph.nodes):
        values += tree_leaves((node.meta.get("val"), node.meta.get("example_value")))
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value.device.type
