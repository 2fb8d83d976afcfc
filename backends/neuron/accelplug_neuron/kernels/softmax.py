"""Softmax over the last dimension, in the place of PyTorch's."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from accelplug.specs import Kernel, Level, TensorRule
from accelplug_neuron.kernels import sdk
from accelplug_neuron.kernels.common import FLOATS, PRIORITY, ROUNDED_ONCE, as_rows


def softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """``aten::_softmax``; ``half_to_float`` returns float32, which PyTorch has on CUDA only."""
    return torch.softmax(self, dim, dtype=torch.float32 if half_to_float else None)


def _load() -> Callable[..., Tensor]:
    on_rows = sdk.kernel("softmax", "tile")

    def call(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
        result: Tensor = on_rows(as_rows(self))
        return result.reshape(self.shape)

    return call


# A row has to lie along a partition, so the dimension is the last; four tiles of float32 as wide as a row have to fit.
KERNELS = (
    Kernel(
        op="aten::_softmax",
        provider="nki",
        name="softmax_tile",
        level=Level.tile,
        load=_load,
        reference=softmax,
        accepts={"self": TensorRule(dtypes=FLOATS, contiguous=True, at_least={-1: 1}, at_most={-1: 8192})},
        values={"dim": (-1,), "half_to_float": (False,)},
        priority=PRIORITY[Level.tile],
        tolerance=ROUNDED_ONCE,
    ),
)
