"""RMSNorm: at all three levels."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from accelplug.specs import Kernel, Level, RanOn, TensorRule
from accelplug_neuron.kernels import sdk
from accelplug_neuron.kernels.common import FLOATS, PRIORITY, ROUNDED_ONCE, as_rows

OP = "accelplug::rms_norm"

# A body holds five tiles of float32 as wide as a row, in 192 KiB of SBUF for each partition.
ACCEPTS = {
    "input": TensorRule(dtypes=FLOATS, contiguous=True, at_least={-1: 1}, at_most={-1: 8192}),
    "weight": TensorRule(dtypes=FLOATS, ranks=(1,), contiguous=True),
}


def rms_norm(input: Tensor, weight: Tensor, eps: float) -> Tensor:
    """``input / sqrt(mean(input²) + eps) * weight`` over the last dimension: float32 inside, rounded once."""
    x = input.to(torch.float32)
    scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
    return (x * scale * weight).to(input.dtype)


def _load(body: str) -> Callable[[], Callable[..., Tensor]]:
    def load() -> Callable[..., Tensor]:
        on_rows = sdk.kernel("rms_norm", body)

        def call(input: Tensor, weight: Tensor, eps: float) -> Tensor:
            result: Tensor = on_rows(as_rows(input), weight, eps)
            return result.reshape(input.shape)

        return call

    return load


KERNELS = (
    Kernel(
        op=OP,
        provider="nki",
        name="rms_norm_isa",
        level=Level.isa,
        load=_load("isa"),
        reference=rms_norm,
        accepts=ACCEPTS,
        priority=PRIORITY[Level.isa],
        tolerance=ROUNDED_ONCE,
    ),
    Kernel(
        op=OP,
        provider="nki",
        name="rms_norm_tile",
        level=Level.tile,
        load=_load("tile"),
        reference=rms_norm,
        accepts=ACCEPTS,
        priority=PRIORITY[Level.tile],
        tolerance=ROUNDED_ONCE,
    ),
    Kernel(
        op=OP,
        provider="neuron",
        name="rms_norm",
        level=Level.compiler,
        load=lambda: rms_norm,
        reference=rms_norm,
        accepts={"*": TensorRule(dtypes=FLOATS)},
        priority=PRIORITY[Level.compiler],
        tolerance=ROUNDED_ONCE,
        ran_on=RanOn.simulator,
    ),
)
