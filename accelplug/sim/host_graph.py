"""Moves a graph on the simulated device to the CPU, before Inductor sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._guards import detect_fake_mode
from torch.fx.passes.fake_tensor_prop import FakeTensorProp
from torch.utils._pytree import tree_map

from accelplug.sim import host_kernels

aten = torch.ops.aten


@dataclass(frozen=True)
class Results:
    """Where the results of a graph belong.

    made
        The results that the graph has made and that belong to the device.
    devices
        The index of the device, for each of those.
    returned
        Pairs: a result, and the input that it is. The CPU's code would return another tensor over its bytes.
    """

    made: tuple[int, ...]
    devices: tuple[int, ...]
    returned: tuple[tuple[int, int], ...]


def refuse_symbolic_shapes(example_inputs: Sequence[Any], device_type: str) -> None:
    """What a vendor's compiler does that takes static shapes only: raises RuntimeError."""
    for number, value in enumerate(example_inputs):
        sizes = value.size() if isinstance(value, torch.Tensor) else (value,)
        if any(isinstance(size, torch.SymInt) for size in sizes):
            raise RuntimeError(
                f"the compiler of {device_type} (simulated) takes static shapes only, and input {number} of the graph "
                f"is {tuple(sizes)}: pass dynamic=False to torch.compile"
            )


def results(graph: torch.fx.GraphModule, device_type: str) -> Results:
    """Where they belong, to be asked before the graph is moved."""
    inputs = graph.graph.find_nodes(op="placeholder")
    nodes = list(enumerate(graph.graph.output_node().args[0]))
    returned = tuple((place, inputs.index(node)) for place, node in nodes if node in inputs)
    made = {place: _device(_value(node), device_type) for place, node in nodes if node not in inputs}
    on_device = {place: device for place, device in made.items() if device is not None}
    return Results(made=tuple(on_device), devices=tuple(on_device.values()), returned=returned)


def move(graph: torch.fx.GraphModule, example_inputs: Sequence[Any], device_type: str) -> list[Any]:
    """Moves the graph, its subgraphs and its constants; returns fake inputs on the CPU to compile it with."""
    mode = detect_fake_mode(example_inputs)
    assert mode is not None, "AOTAutograd traces with fake tensors"

    def on_host(value: Any) -> Any:
        if _device(value, device_type) is None:
            return value
        with mode:
            return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="cpu")

    inputs = [on_host(value) for value in example_inputs]
    for module in reversed(list(graph.modules())):  # what is inside first
        if not isinstance(module, torch.fx.GraphModule):
            continue
        placeholders = module.graph.find_nodes(op="placeholder")
        own = inputs if module is graph else [on_host(_value(node)) for node in placeholders]
        _rename_devices(module, device_type)
        _lend_constants(module, device_type)
        _take_own_mm(module)
        FakeTensorProp(module, mode).propagate_dont_convert_inputs(*own)
        host_kernels.spell_out(module)
        module.recompile()
    return inputs


def _rename_devices(graph: torch.fx.GraphModule, device_type: str) -> None:
    def renamed(value: Any) -> Any:
        return torch.device("cpu") if isinstance(value, torch.device) and value.type == device_type else value

    for node in list(graph.graph.nodes):
        if _is_transfer(node, device_type):  # else it would be a no-op, and its result the same bytes as its operand
            with graph.graph.inserting_before(node):
                node.replace_input_with(node.args[0], graph.graph.call_function(aten.clone.default, (node.args[0],)))
        node.args, node.kwargs = tree_map(renamed, node.args), tree_map(renamed, node.kwargs)


def _is_transfer(node: torch.fx.Node, device_type: str) -> bool:
    if node.target not in (aten._to_copy.default, torch.ops.prims.device_put.default):
        return False
    return _device(_value(node), device_type) != _device(_value(node.args[0]), device_type)


def _lend_constants(graph: torch.fx.GraphModule, device_type: str) -> None:
    for name, tensor in [*graph.named_buffers(recurse=False), *graph.named_parameters(recurse=False)]:
        if _device(tensor, device_type) is not None:
            setattr(graph, name, torch.ops.accelplug_sim.host_alias(tensor))


def _take_own_mm(graph: torch.fx.GraphModule) -> None:
    """Those of linear layers in float32: see csrc/products.h. Afterwards Inductor fuses no addition into them."""
    for node in graph.graph.find_nodes(op="call_function", target=aten.mm.default):
        value, weight = _value(node), node.args[1]
        transposed = weight.target in (aten.t.default, aten.permute.default)
        if transposed and value is not None and value.dtype == torch.float32:
            node.target = torch.ops.accelplug_sim.mm.default


def _value(node: Any) -> Any:
    return node.meta.get("val") if isinstance(node, torch.fx.Node) else None


def _device(value: Any, device_type: str) -> int | None:
    """The index of the simulated device that a tensor is on; None for any other, and for what isn't a tensor."""
    if not isinstance(value, torch.Tensor) or value.device.type != device_type:
        return None
    return value.device.index or 0
