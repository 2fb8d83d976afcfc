"""Runs code that was compiled for the CPU on tensors of the simulated device, without copying a byte."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._inductor.codecache import FxGraphCache
from torch._inductor.output_code import CompiledFxGraph

from accelplug.sim.graph_ops import GraphOps
from accelplug.sim.host_graph import Results


class HostCode(CompiledFxGraph):  # type: ignore[misc]
    """Inductor's code for the CPU, which takes and gives tensors of the device, as ``results`` says, counting ``ops``.

    It is an entry of its own in torch's FX graph cache: torch's AOTAutograd cache refers to its entries by key, and the
    one of the code alone runs on CPU tensors.
    """

    results: Results
    ops: GraphOps

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        with self.ops.running():
            return _run(super().__call__, self.results, inputs)


def host_code(code: Any, results: Results, ops: GraphOps, example_inputs: Sequence[Any]) -> Any:
    """``code`` for tensors of the device; changed in place, as Inductor has made it for this graph alone."""
    if not isinstance(code, CompiledFxGraph):  # a graph without an operator is a function
        return _boxed(code, results)
    code.__class__ = HostCode
    code.results = results
    code.ops = ops
    if code._fx_graph_cache_key is not None:  # None where the caches are off, or the graph is one they don't take
        code._fx_graph_cache_key = _key(code)
        if not os.path.isdir(FxGraphCache._get_tmp_dir_for_key(code._fx_graph_cache_key)):
            FxGraphCache._save_graph(code._fx_graph_cache_key, code, example_inputs, local=True, remote_cache=None)
    return code


def _key(code: HostCode) -> str:
    """Of the code's own key, the guards it holds under, where its results go, and what is counted."""
    parts = f"accelplug {code._fx_graph_cache_key} {code.guards_expr} {code.results} {code.ops.ops}"
    return f"f{hashlib.sha256(parts.encode()).hexdigest()}"


def _boxed(function: Callable[[list[Any]], Any], results: Results) -> Callable[[list[Any]], Any]:
    def run(inputs: list[Any]) -> Any:
        return _run(function, results, inputs)

    run._boxed_call = True  # type: ignore[attr-defined]
    return run


def _run(function: Callable[[list[Any]], Any], results: Results, inputs: Sequence[Any]) -> list[Any]:
    """Lends the inputs to ``function``, and has the device adopt what it has made."""
    returned = [(place, inputs[number]) for place, number in results.returned]
    on_host = _lent(inputs)
    if isinstance(inputs, list):
        inputs.clear()  # the caller's references, so that the code can free them
    given = list(function(on_host))
    made = torch.ops.accelplug_sim.adopt_all.default([given[place] for place in results.made], results.devices)
    for place, tensor in (*zip(results.made, made, strict=True), *returned):
        given[place] = tensor
    return given


def _lent(values: Sequence[Any]) -> list[Any]:
    """CPU tensors over the bytes of device tensors; anything else as it is."""
    lend = torch.ops.accelplug_sim.host_aliases.default
    places = [place for place, value in enumerate(values) if isinstance(value, torch.Tensor)]
    if len(places) == len(values):
        return list(lend(values))
    lent = list(values)
    for place, tensor in zip(places, lend([values[place] for place in places]), strict=True):
        lent[place] = tensor
    return lent
