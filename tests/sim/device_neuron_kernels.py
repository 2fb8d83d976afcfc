"""Runs each of Neuron's kernels through the table of the simulated device. Prints what ran and fell back, as JSON."""

from __future__ import annotations

import json
from typing import Any

import torch
from accelplug_neuron.kernels import kernels

import accelplug
from accelplug import ops, tables
from accelplug.specs import Kernel

device = accelplug.auto().torch_device
found = tables.tables_for(device.type)
assert found is not None


def arguments(kernel: Kernel) -> tuple[Any, ...]:
    x = torch.randn(3, 4, 64)
    by_op: dict[str, tuple[Any, ...]] = {
        "accelplug::rms_norm": (x, torch.randn(64), 1e-6),
        "accelplug::silu_and_mul": (x,),
        "accelplug::rotary_embedding": (x, torch.randn(3, 32), torch.randn(3, 32)),
        "aten::_softmax": (x, -1, False),
        "aten::mm": (torch.randn(128, 256), torch.randn(256, 128)),
    }
    return by_op[kernel.op]


def on_device(values: tuple[Any, ...]) -> list[Any]:
    return [value.to(device) if isinstance(value, torch.Tensor) else value for value in values]


def call(kernel: Kernel, values: list[Any]) -> torch.Tensor:
    namespace, op = kernel.op.split("::")
    result: torch.Tensor = getattr(getattr(torch.ops, namespace), op).default(*values)
    return result


for kernel in kernels():
    given = arguments(kernel)
    with accelplug.kernels(only=str(kernel)):
        got = call(kernel, on_device(given))
        if kernel.provider == "neuron":  # made of PyTorch's operators, so that it runs by itself as well
            torch.testing.assert_close(kernel.load()(*on_device(given)).cpu(), kernel.reference(*given))
    assert got.device.type == device.type
    assert torch.equal(got.cpu(), kernel.reference(*given)), kernel

x, weight, angles, matrix = torch.randn(128, 2, 128), torch.randn(128), torch.randn(128, 64), torch.randn(128, 128)


def block(x: torch.Tensor, weight: torch.Tensor, angles: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    turned = ops.rotary_embedding(ops.rms_norm(x, weight), angles.cos(), angles.sin())
    return (ops.silu_and_mul(turned.flatten(1)) @ matrix).softmax(-1)


counts = {count.kernel: count.calls for count in found.kernels.counts()}
compiled = accelplug.compile(block)(*on_device((x, weight, angles, matrix)))
torch.testing.assert_close(compiled.cpu(), block(x, weight, angles, matrix))
fell_back = [row.op for row in accelplug.fallback_report().rows if row.compiled]
print(json.dumps({"calls": counts, "fell back in the graph": fell_back}))
