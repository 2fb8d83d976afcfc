"""Spells kernels out in graphs: their references in their place, so that Inductor fuses them with what is around.

On hardware a kernel is a call in the graph. Here only its reference runs, and as a call it would cost what all of
PyTorch's operators in it cost, in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_flatten, tree_unflatten

_references: dict[Any, Callable[..., Any]] = {}


def know(op: Any, reference: Callable[..., Any]) -> None:
    """From now on graphs have ``reference``, which can be traced, in the place of the operator."""
    _references[op] = reference


def spell_out(graph: torch.fx.GraphModule) -> None:
    """Changes a graph whose nodes have the CPU's fake tensors as their values. Kernels stay calls where shapes are
    symbolic, and where their reference takes operators that Inductor doesn't know."""
    for node in list(graph.graph.nodes):
        reference = _references.get(node.target)
        if reference is not None:
            _spell_out(graph, node, reference)


def _spell_out(graph: torch.fx.GraphModule, node: torch.fx.Node, reference: Callable[..., Any]) -> None:
    from torch._inductor.decomposition import select_decomp_table

    given, structure = tree_flatten((node.args, node.kwargs))
    tensors = [value for value in given if isinstance(value, torch.fx.Node)]
    fakes = [value.meta["val"] for value in tensors]
    if not all(isinstance(fake, torch.Tensor) and all(type(size) is int for size in fake.shape) for fake in fakes):
        return

    def call(*values: torch.Tensor) -> Any:
        place = dict(zip(tensors, values, strict=True))
        args, kwargs = tree_unflatten(
            [place[value] if isinstance(value, torch.fx.Node) else value for value in given], structure
        )
        return reference(*args, **kwargs)

    with fakes[0].fake_mode:
        traced = make_fx(call, select_decomp_table())(*fakes)
    if not all(_is_of_pytorch(inner) for inner in traced.graph.nodes):
        return
    inside = dict(zip(traced.graph.find_nodes(op="placeholder"), tensors, strict=True))
    with graph.graph.inserting_before(node):
        result = graph.graph.graph_copy(traced.graph, inside)
    node.replace_all_uses_with(result)
    graph.graph.erase_node(node)


def _is_of_pytorch(node: torch.fx.Node) -> bool:
    if node.op != "call_function":
        return node.op in ("placeholder", "output")
    return not isinstance(node.target, torch._ops.OpOverload) or node.target.namespace in ("aten", "prims")
