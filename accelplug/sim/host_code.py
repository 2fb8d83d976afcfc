"""Runs code that was compiled for the CPU on tensors of the simulated device, without copying a byte."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._inductor.codecache import FxGraphCache
from torch._inductor.output_code import OutputCode
from torch._subclasses import FakeTensor

from accelplug.sim.graph_ops import GraphOps
from accelplug.sim.host_graph import Results


@dataclass
class HostCode(OutputCode):  # type: ignore[misc]
    """``code`` for the CPU; device tensors are lent to it, and its results adopted by the device. ``ops`` are counted.

    It has no key in the FX graph cache, where ``code`` alone is: torch's AOTAutograd cache must not refer to that.
    """

    code: Any
    results: Results
    ops: GraphOps
    _boxed_call: bool = True

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        self.ops.count()
        returned = {number: inputs[number] for number in self.results.returned if number is not None}
        on_host = [_lend(value) for value in inputs]
        if isinstance(inputs, list):
            inputs.clear()  # the caller's references, so that the code can free them
        results = self.code(on_host)
        adopt = torch.ops.accelplug_sim.adopt.default
        return [
            returned[number] if number is not None else result if device is None else adopt(result, device)
            for result, number, device in zip(results, self.results.returned, self.results.device, strict=True)
        ]

    def prepare_for_serialization(self) -> None:
        self.code = copy.copy(self.code)  # the caller has copied this object, not what is in it
        self.code.prepare_for_serialization()

    def post_compile(self, example_inputs: Sequence[Any], constants: Any, graph_kwargs: Any) -> None:
        if self.code.current_callable is None:  # loaded from the AOTAutograd cache
            code, _ = FxGraphCache.cache_hit_post_compile(self.code, {}, constants)
            if code is None:
                raise RuntimeError("Inductor's code is gone from its cache; clear TORCHINDUCTOR_CACHE_DIR")
            self.code = code
        self.code.post_compile([_lend(value) for value in example_inputs], constants, graph_kwargs)

    def set_triton_bundle(self, triton_bundle: Any) -> None:
        self.code.set_triton_bundle(triton_bundle)


def _lend(value: Any) -> Any:
    """A CPU tensor over the bytes of a device tensor; anything else as it is."""
    if not isinstance(value, torch.Tensor) or isinstance(value, FakeTensor):
        return value
    return torch.ops.accelplug_sim.host_alias.default(value)
