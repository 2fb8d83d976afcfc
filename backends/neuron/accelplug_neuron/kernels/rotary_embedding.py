"""Rotary position embedding in the NeoX layout, where a head's two halves are the pairs."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from accelplug.specs import Kernel, Level, TensorRule
from accelplug_neuron.kernels import sdk
from accelplug_neuron.kernels.common import FLOATS, PRIORITY, ROUNDED_ONCE, as_rows

OP = "accelplug::rotary_embedding"


def rotary_embedding(input: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turns the pairs of each head: float32 inside, rounded once.

    Shapes: input ``[..., heads, size]``, cos and sin ``[..., size / 2]``, one row for each token.
    """
    left, right = input.to(torch.float32).chunk(2, -1)
    c, s = cos.to(torch.float32).unsqueeze(-2), sin.to(torch.float32).unsqueeze(-2)
    return torch.cat((left * c - right * s, right * c + left * s), -1).to(input.dtype)


def _angles_differ(input: Tensor, cos: Tensor, sin: Tensor) -> str | None:
    """The body has a row of angles for each token; what PyTorch would broadcast is left to the next."""
    wanted = (*input.shape[:-2], input.shape[-1] // 2)
    for name, angles in (("cos", cos), ("sin", sin)):
        if angles.shape != wanted:
            return f"{name} has shape {tuple(angles.shape)}, not {wanted}"
    return None


def _load() -> Callable[..., Tensor]:
    on_tokens = sdk.kernel("rotary_embedding", "tile")

    def call(input: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        angles = as_rows(cos), as_rows(sin)
        result: Tensor = on_tokens(input.reshape(-1, *input.shape[-2:]), *angles)
        return result.reshape(input.shape)

    return call


# Heads times size is what a token takes of a partition: six tiles of half of it, in float32, have to fit.
KERNELS = (
    Kernel(
        op=OP,
        provider="nki",
        name="rotary_embedding_tile",
        level=Level.tile,
        load=_load,
        reference=rotary_embedding,
        accepts={
            "*": TensorRule(dtypes=FLOATS, contiguous=True),
            "input": TensorRule(ranks=(2, 3, 4), multiples={-1: 2}, at_least={-2: 1}, at_most={-1: 128, -2: 64}),
        },
        refuses=_angles_differ,
        priority=PRIORITY[Level.tile],
        tolerance=ROUNDED_ONCE,
    ),
)
