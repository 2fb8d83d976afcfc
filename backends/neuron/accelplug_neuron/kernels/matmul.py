"""The product of two matrices, in the place of PyTorch's: at all three levels."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from accelplug.specs import Kernel, Level, RanOn, TensorRule
from accelplug_neuron.kernels import sdk
from accelplug_neuron.kernels.common import FLOATS, PRIORITY

OP = "aten::mm"

# The bodies have no short tiles. 128 rows of self stay in SBUF, which bounds their length. The kernel at the compiler's
# level takes the same calls, so that levels can be compared; all other products are the SDK's.
ACCEPTS = {
    "*": TensorRule(dtypes=FLOATS, contiguous=True, multiples={0: 128, 1: 128}, at_least={0: 128, 1: 128}),
    "self": TensorRule(at_most={1: 16384}),
}

# Absolute and relative, for elements near 1: both sum in float32, in another order, and round once.
SUMMED = {"float32": (1e-3, 1e-4), "bfloat16": (1e-1, 1.6e-2), "float16": (2e-2, 2e-3)}


def mm(self: Tensor, mat2: Tensor) -> Tensor:
    """``self @ mat2``."""
    return torch.mm(self, mat2)


def mm_as_batch(self: Tensor, mat2: Tensor) -> Tensor:
    """``self @ mat2`` as a batch of one product: another operator, so that this isn't asked to compute itself."""
    return torch.bmm(self.unsqueeze(0), mat2.unsqueeze(0)).squeeze(0)


def _load(body: str) -> Callable[[], Callable[..., Tensor]]:
    return lambda: sdk.kernel("matmul", body)


KERNELS = (
    Kernel(
        op=OP,
        provider="nki",
        name="mm_isa",
        level=Level.isa,
        load=_load("isa"),
        reference=mm,
        accepts=ACCEPTS,
        priority=PRIORITY[Level.isa],
        tolerance=SUMMED,
    ),
    Kernel(
        op=OP,
        provider="nki",
        name="mm_tile",
        level=Level.tile,
        load=_load("tile"),
        reference=mm,
        accepts=ACCEPTS,
        priority=PRIORITY[Level.tile],
        tolerance=SUMMED,
    ),
    Kernel(
        op=OP,
        provider="neuron",
        name="mm",
        level=Level.compiler,
        load=lambda: mm_as_batch,
        reference=mm,
        accepts=ACCEPTS,
        priority=PRIORITY[Level.compiler],
        tolerance=SUMMED,
        ran_on=RanOn.simulator,
    ),
)
