"""SiLU of a row's first half, times its second: what a gated MLP does between its matrices."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from accelplug.specs import Kernel, Level, TensorRule
from accelplug_neuron.kernels import sdk
from accelplug_neuron.kernels.common import FLOATS, PRIORITY, ROUNDED_ONCE, as_rows

OP = "accelplug::silu_and_mul"
ACCEPTS = {"input": TensorRule(dtypes=FLOATS, contiguous=True, multiples={-1: 2})}


def silu_and_mul(input: Tensor) -> Tensor:
    """``silu(input[..., :d]) * input[..., d:]`` of ``[..., 2 * d]``: float32 inside, rounded once."""
    gate, up = input.to(torch.float32).chunk(2, -1)
    return (torch.nn.functional.silu(gate) * up).to(input.dtype)


def _load(body: str) -> Callable[[], Callable[..., Tensor]]:
    def load() -> Callable[..., Tensor]:
        on_rows = sdk.kernel("silu_and_mul", body)

        def call(input: Tensor) -> Tensor:
            result: Tensor = on_rows(as_rows(input))
            return result.reshape(*input.shape[:-1], input.shape[-1] // 2)

        return call

    return load


KERNELS = (
    Kernel(
        op=OP,
        provider="nki",
        name="silu_and_mul_isa",
        level=Level.isa,
        load=_load("isa"),
        reference=silu_and_mul,
        accepts=ACCEPTS,
        priority=PRIORITY[Level.isa],
        tolerance=ROUNDED_ONCE,
    ),
    Kernel(
        op=OP,
        provider="nki",
        name="silu_and_mul_tile",
        level=Level.tile,
        load=_load("tile"),
        reference=silu_and_mul,
        accepts=ACCEPTS,
        priority=PRIORITY[Level.tile],
        tolerance=ROUNDED_ONCE,
    ),
)
