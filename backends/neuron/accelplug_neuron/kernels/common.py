"""What the records of several kernels share."""

from __future__ import annotations

from torch import Tensor

from accelplug.specs import Level

FLOATS = ("float32", "bfloat16", "float16")

# More control is tried first. That it is faster as well is what these kernels are written for, and not measured.
PRIORITY = {Level.isa: 30, Level.tile: 20, Level.compiler: 10}

# Absolute and relative: one rounding of a result near 1, doubled. How well the engines approximate exp, rsqrt and SiLU
# is not documented; they may need more.
ROUNDED_ONCE = {"float32": (2e-5, 2e-5), "bfloat16": (1.6e-2, 1.6e-2), "float16": (2e-3, 2e-3)}


def as_rows(x: Tensor) -> Tensor:
    """x as ``[rows, last dimension]``. Raises NotImplementedError where it is empty: a body computes a row at least."""
    if x.numel() == 0:
        raise NotImplementedError(f"the tensor of shape {tuple(x.shape)} has no elements")
    return x.reshape(-1, x.shape[-1])
