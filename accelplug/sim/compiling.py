"""Compiles graphs on the simulated device: with stock Inductor, as graphs on the CPU over the same bytes.

torch and Inductor are imported when a graph is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def spells_out(op: Any, reference: Callable[..., Any]) -> None:
    """Graphs have a kernel's ``reference`` in the place of its operator."""
    from accelplug.sim import host_kernels

    host_kernels.know(op, reference)


def inner_compile(graph: Any, example_inputs: Any, **given: Any) -> Any:
    """What ``compile_fx`` calls for each graph, after AOTAutograd has taken it apart; returns what runs it.

    The graph is changed in place: its tensors on the device are on the CPU afterwards. ``given`` goes to Inductor.
    Raises RuntimeError for symbolic shapes where the profile has static ones only, CompileRefusedError for a graph with
    a dtype that the device hasn't.
    """
    from torch._inductor.compile_fx import compile_fx_inner

    from accelplug.sim import device, graph_ops, host_graph
    from accelplug.sim.graph_dtypes import refuse_what_no_tensor_holds
    from accelplug.sim.host_code import host_code

    if device.profile().static_shapes:
        host_graph.refuse_symbolic_shapes(example_inputs, device.registered())
    refuse_what_no_tensor_holds(graph, device.profile())
    ops = graph_ops.listed(graph, device.registered())
    results = host_graph.results(graph, device.registered())
    on_host = host_graph.move(graph, example_inputs, device.registered())
    return host_code(compile_fx_inner(graph, on_host, **given), results, ops, on_host)
