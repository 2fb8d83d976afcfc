"""Single layers on a device, and the rest of the model on the host: how a new device can start with one layer.

``--additional-config '{"accelplug": {"layers_on_device": ["RMSNorm"]}}'`` asks for it, with ``--device cpu``. vLLM's
platform is then the CPU's. Each call of such a layer takes its tensors to the device and the results back, so it is a
way to try a layer within a model, and not one to be fast.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_map_only
from vllm.model_executor.custom_op import CustomOp
from vllm.model_executor.layers.layernorm import RMSNorm

from accelplug.errors import BadInputError
from accelplug_vllm.layers import fused, host, replacing

FUSED: dict[type, tuple[Callable[[type, str], type], str]] = {
    **replacing.FUSED,
    RMSNorm: (fused.rms_norm, "accelplug::rms_norm"),
}


class OnDevice:
    """Put before a layer's class: the layer computes on ``device``, whatever the platform is."""

    device: torch.device

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map_only(torch.Tensor, lambda tensor: tensor.to(self.device), (args, kwargs))
        results = self.forward_oot(*args, **kwargs)  # type: ignore[attr-defined]
        return tree_map_only(torch.Tensor, torch.Tensor.cpu, results)


def wrap(names: Sequence[str], device_type: str) -> dict[str, tuple[str, ...]]:
    """From now on vLLM makes the layers ``names`` on the device; says what runs each, in order.

    Raises BackendError for a name that vLLM doesn't have, BadInputError for a layer that can't be taken out by itself.
    """
    running = {}
    for name in names:
        layer = replacing.find(name, host.ASKED_BY)
        if not issubclass(layer, CustomOp):
            able = sorted(n for n, known in replacing.replaceable().items() if issubclass(known, CustomOp))
            raise BadInputError(
                f"{host.ASKED_BY}: {name} can't be on the device by itself, as vLLM prepares its weights for the CPU; "
                f"these can: {', '.join(able)}"
            )
        replacing.put(layer, functools.partial(_wrapped, device_type=device_type), f"{host.ASKED_BY}, {device_type}")
        how = FUSED.get(layer)
        running[name] = fused.runs(device_type, how[1]) if how else (f"vLLM's operators on {device_type}",)
    return running


def move_weights(model: torch.nn.Module) -> None:
    """Takes the parameters of the wrapped layers to the device, once they are loaded."""
    for module in model.modules():
        if isinstance(module, OnDevice):
            module.to(module.device)  # type: ignore[attr-defined]


def _wrapped(layer: type, device_type: str) -> type:
    how = FUSED.get(layer)
    inner = how[0](layer, device_type) if how else layer
    return type(f"OnDevice{layer.__name__}", (OnDevice, inner), {"device": torch.device(device_type)})
