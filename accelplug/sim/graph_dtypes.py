"""Refuses a graph with a dtype that the simulated device hasn't: its compiler would, and the CPU's doesn't."""

from __future__ import annotations

import torch

from accelplug import call_site
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
                site = call_site.in_trace(node.stack_trace or "")
                raise CompileRefusedError(
                    f"{profile.torch_type} (simulated) has no {dtype}, and the graph makes such a tensor with "
                    f"{node.target}{f' at {site}' if site else ''}. It has {', '.join(profile.dtypes)}"
                )
