"""Layers of vLLM's on a simulated device while the platform is the CPU, for test_layers_on_device.py. Prints JSON."""

from __future__ import annotations

import json

import torch
from accelplug_vllm.layers import wrapping
from vllm.config import VllmConfig, set_current_vllm_config
from vllm.model_executor.layers.activation import GeluAndMul, SiluAndMul
from vllm.model_executor.layers.layernorm import RMSNorm
from vllm.model_executor.layers.rotary_embedding import RotaryEmbedding

import accelplug

torch.manual_seed(0)
x, residual, positions = torch.randn(3, 64), torch.randn(3, 64), torch.tensor([2, 0, 5])


def model() -> torch.nn.ModuleDict:
    rope = RotaryEmbedding(16, 16, 32, 10000.0, True, torch.float32)
    return torch.nn.ModuleDict({"norm": RMSNorm(64), "silu": SiluAndMul(), "gelu": GeluAndMul(), "rope": rope})


def results(layers: torch.nn.ModuleDict) -> list[torch.Tensor]:
    with torch.inference_mode():
        normed, total = layers["norm"](x, residual)
        query, key = layers["rope"](positions, x.clone(), x[:, :32].clone())
        return [normed, total, layers["norm"](x), layers["silu"](x), layers["gelu"](x), query, key]


with set_current_vllm_config(VllmConfig()):
    own = results(model())
    device = accelplug.select("neuron").torch_device.type
    running = wrapping.wrap(["RMSNorm", "SiluAndMul", "GeluAndMul", "RotaryEmbedding"], device)
    wrapped = model()
    wrapping.move_weights(wrapped)
    before = accelplug.fallback_report().transfers
    found = results(wrapped)
    after = accelplug.fallback_report().transfers
assert before is not None
assert after is not None
for mine, vllms in zip(found, own, strict=True):
    assert mine.device == vllms.device
    torch.testing.assert_close(mine, vllms)
print(
    json.dumps(
        {
            "runs": running,
            "to_device": after.to_device_calls - before.to_device_calls,
            "to_host": after.to_host_calls - before.to_host_calls,
            "kernels": sorted(kernel.kernel for kernel in accelplug.fallback_report().kernels),
        }
    )
)
