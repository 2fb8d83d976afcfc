"""Kernels for Spyre, made of operators that its compiler has in float16. Run on the simulator, not yet on hardware.

There is none for products of unaligned sizes: torch-spyre pads the inner dimension of ``mm`` and ``bmm`` itself
(torch-spyre#1503, #1559, #2131), and can't pad a tensor on the card from the middle of a stick on (#3916).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accelplug.specs import Kernel, Level, RanOn, TensorRule
from accelplug_spyre.constraints import STICK

if TYPE_CHECKING:
    from torch import Tensor

# The card's fp16 has 9 bits behind the point. An error of a few of its steps is right: absolute, relative.
TOLERANCE = {"float16": (2**-7, 2**-7)}


def kernels() -> tuple[Kernel, ...]:
    """All of them, in float16 only."""
    return (
        Kernel(
            op="accelplug::rms_norm",
            provider="spyre",
            name="rms_norm",
            level=Level.compiler,
            load=lambda: rms_norm,
            reference=rms_norm_reference,
            accepts={"*": TensorRule(dtypes=("float16",))},
            tolerance=TOLERANCE,
            ran_on=RanOn.simulator,
        ),
        Kernel(
            op="accelplug::silu_and_mul",
            provider="spyre",
            name="silu_and_mul",
            level=Level.compiler,
            load=lambda: silu_and_mul,
            reference=silu_and_mul_reference,
            accepts={"input": TensorRule(dtypes=("float16",), multiples={-1: 2 * STICK})},
            tolerance=TOLERANCE,
            ran_on=RanOn.simulator,
        ),
    )


def rms_norm(input: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Without a float32 in between: the compiler has no ``rsqrt`` and no ``mean`` of float32, and a cast between the
    two formats changes a tensor's layout (torch-spyre#1368, #1681, #1712, #2508).

    The card's fp16 has 6 bits of exponent, so the squares of large activations fit. In IEEE's float16 they would not.
    """
    scale = (input.mul(input).mean(-1, keepdim=True) + eps).rsqrt()
    return input * scale * weight


def silu_and_mul(input: Tensor) -> Tensor:
    """With both halves in memory of their own: the compiler can't slice inside of a graph (torch-spyre#954) and forgets
    where a view starts (#3578). A copy has to begin on a whole stick (#4329), so halves are of whole sticks."""
    gate, value = (half.contiguous() for half in input.chunk(2, -1))
    return gate.sigmoid().mul(gate).mul(value)


def rms_norm_reference(input: Tensor, weight: Tensor, eps: float) -> Tensor:
    """In float32, as model code does it."""
    wide = input.float()
    return (wide * (wide.square().mean(-1, keepdim=True) + eps).rsqrt()).to(input.dtype) * weight


def silu_and_mul_reference(input: Tensor) -> Tensor:
    """In float32."""
    gate, value = input.float().chunk(2, -1)
    return (gate.sigmoid() * gate * value).to(input.dtype)
