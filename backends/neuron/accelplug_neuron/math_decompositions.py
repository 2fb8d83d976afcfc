"""Decompositions that compute. Imports torch: only `accelplug_neuron.decompositions` imports this."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch._refs.linalg
from torch import Tensor
from torch.types import Number


def scalar_tensor(
    value: Number,
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """A tensor of no dimension, of the default dtype whatever the number is."""
    dtype = dtype or torch.get_default_dtype()
    return torch.full([], value, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)


def sigmoid_backward(gradient: Tensor, output: Tensor) -> Tensor:
    """The gradient of a sigmoid from its output."""
    return gradient * ((1 - output) * output).conj_physical()


def linear_backward(
    x: Tensor, gradient: Tensor, weight: Tensor, wanted: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Gradients of ``x``, ``weight`` and bias of a linear layer; None for those that aren't wanted.

    Shapes: x ``[*, in]``, gradient ``[*, out]``, weight ``[out, in]``.
    """
    rows = gradient.reshape(-1, gradient.shape[-1])
    of_x = gradient.matmul(weight) if wanted[0] else None
    of_weight = rows.t().mm(x.reshape(-1, x.shape[-1])) if wanted[1] else None
    of_bias = rows.sum(0) if wanted[2] else None
    return of_x, of_weight, of_bias


def vector_norm(
    x: Tensor,
    ord: float = 2,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """The vector norm, summed in float32 at least. Complex and empty tensors are left to PyTorch's decomposition."""
    if x.is_complex() or x.numel() == 0:
        return torch._refs.linalg.vector_norm(x, ord, dim, keepdim, dtype=dtype)
    over = list(range(x.dim())) if not dim else list(dim)
    result = dtype or x.dtype
    size = x.to(result).to(torch.promote_types(result, torch.float32)).abs()
    return _norm(size, ord, {"dim": over, "keepdim": keepdim}).to(result)


def _norm(size: Tensor, ord: float, along: dict[str, Any]) -> Tensor:
    if ord == math.inf:
        return size.amax(**along)
    if ord == -math.inf:
        return size.amin(**along)
    if ord == 0:
        return size.ne(0).to(size.dtype).sum(**along)
    if ord == 1:
        return size.sum(**along)
    if ord == 2:
        return (size * size).sum(**along).sqrt()
    return size.pow(ord).sum(**along).pow(1 / ord)
