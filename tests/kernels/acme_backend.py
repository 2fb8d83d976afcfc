"""A third party's backend with kernels for a device of its own. Their references double results, to be told apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from accelplug.hookspecs import hookimpl
from accelplug.specs import DeviceSpec, Host, Kernel, Level, Probe, TensorRule


def probe(host: Host) -> Probe:
    return Probe(verdict="usable", reason="two cards", count=2)


def load() -> None:
    import acme_sdk  # noqa: F401


def no_sdk() -> Callable[..., Any]:
    raise ImportError("acme_sdk.kernels is not there")


def doubled_mm(self: torch.Tensor, mat2: torch.Tensor) -> torch.Tensor:
    return torch.mm(self, mat2) * 2


def doubled_norm(input: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    from accelplug.ops import rms_norm

    return rms_norm(input, weight, eps) * 2


def doubled_quantized_linear(
    input: torch.Tensor,
    weight: torch.Tensor,
    scales: torch.Tensor,
    zeros: torch.Tensor | None,
    bias: torch.Tensor | None,
    bits: int,
) -> torch.Tensor:
    from accelplug.ops import quantized_linear

    return quantized_linear(input, weight, scales, zeros, bias, bits) * 2


@hookimpl
def accelplug_device() -> DeviceSpec:
    return DeviceSpec(name="acme", title="Acme", torch_type="acme", probe=probe, load=load)


@hookimpl
def accelplug_kernels() -> list[Kernel]:
    fours = TensorRule(dtypes=("float32",), ranks=(2,), multiples={-1: 4})
    common = {"provider": "fast", "load": no_sdk, "ran_on": "hardware"}
    return [
        Kernel(op="aten::mm", name="mm", level=Level.tile, reference=doubled_mm, accepts={"*": fours}, **common),
        Kernel(op="accelplug::rms_norm", name="norm", level=Level.isa, reference=doubled_norm, **common),
        Kernel(
            op="accelplug::quantized_linear",
            name="four_bits",
            level=Level.tile,
            reference=doubled_quantized_linear,
            values={"bits": (4,)},
            **common,
        ),
    ]
