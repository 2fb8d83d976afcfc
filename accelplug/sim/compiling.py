"""Compiles graphs on the simulated device: with stock Inductor, as graphs on the CPU over the same bytes.

torch and Inductor are imported when a graph is compiled.
"""

from __future__ import annotations

from typing import Any


def inner_compile(graph: Any, example_inputs: Any, **given: Any) -> Any:
    """What ``compile_fx`` calls for each graph, after AOTAutograd has taken it apart; returns what runs it.

    The graph is changed in place: its tensors on the device are on the CPU afterwards. ``given`` goes to Inductor.
    """
    from torch._inductor.compile_fx import compile_fx_inner

    from accelplug.sim import device, graph_ops, host_graph
    from accelplug.sim.host_code import HostCode

    ops = graph_ops.listed(graph, device.registered())
    results = host_graph.results(graph, device.registered())
    on_host = host_graph.move(graph, example_inputs, device.registered())
    return HostCode(compile_fx_inner(graph, on_host, **given), results, ops)
