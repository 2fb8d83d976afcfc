"""Refuses a graph with a dtype that the simulated device hasn't: its compiler would, and the CPU's doesn't."""

from __future__ import annotations

import torch

from accelplug.errors import CompileRefusedError
from accelplug.sim.profile import Profile


def refuse_what_no_tensor_holds(graph: torch.fx.GraphModule, profile: Profile) -> None:
    """Raises CompileRefusedError that names the dtype, the operator and where the model has it."""
    for module in graph.modules():
        if not isinstance(module, torch.fx.GraphModule):
            continue
        for node in module.graph.nodes:
            value = node.meta.get("val")
            if not isinstance(value, torch.Tensor) or value.device.type != profile.torch_type:
                continue
            dtype = str(value.dtype).removeprefix("torch.")
            if not profile.holds(dtype):
                raise CompileRefusedError(
                    f"{profile.torch_type} (simulated) has no {dtype}, and the graph makes such a tensor with "
                    f"{node.target}{_origin(node)}. It has {', '.join(profile.dtypes)}"
                )


def _origin(node: torch.fx.Node) -> str:
    """The last line of the model's code that Dynamo has kept for the node: " at model.py:12"."""
    frames = [line.strip() for line in (node.stack_trace or "").splitlines() if line.strip().startswith("File ")]
    return f" ({frames[-1]})" if frames else ""
