"""Fused operators that PyTorch has none for, so that a vendor's kernel has a name to stand for.

Each is an operator of PyTorch's dispatcher, ``torch.ops.accelplug.rms_norm``, with a gradient, and made of other
operators wherever no kernel takes the call: on the CPU, on any device, in any graph. Importing this imports torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

__all__ = ["quantized_linear", "rms_norm", "rotary_embedding", "silu_and_mul"]

_library = torch.library.Library("accelplug", "FRAGMENT")  # kept: its operators go when it does


def rms_norm(input: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    """``input`` over its root mean square along the last dimension, times ``weight``.

    input (..., n), weight (n), result (..., n) in the input's dtype; the mean is taken in float32 (or float64).
    """
    return torch.ops.accelplug.rms_norm.default(input, weight, eps)


def silu_and_mul(input: Tensor) -> Tensor:
    """``silu(a) * b``, where ``a`` and ``b`` are the two halves of the last dimension: (..., 2n) to (..., n).

    Raises ValueError where it can't be halved.
    """
    return torch.ops.accelplug.silu_and_mul.default(input)


def rotary_embedding(input: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotates each pair of an element in the first half of the last dimension and its partner in the second.

    input (..., heads, n), cos and sin (..., n / 2), the same for all heads; result as input. This is the order of
    GPT-NeoX and Llama's checkpoints on the Hub, not that of interleaved pairs. Raises ValueError for an odd n.
    """
    return torch.ops.accelplug.rotary_embedding.default(input, cos, sin)


def quantized_linear(
    input: Tensor, weight: Tensor, scales: Tensor, zeros: Tensor | None, bias: Tensor | None, bits: int
) -> Tensor:
    """A linear layer whose weights are unsigned integers of 4 or 8 bits: ``(value - zero) * scale``, group by group.

    input (..., n) is not quantised; result (..., m) in its dtype. weight (m, n * bits / 8) is uint8; of two values of
    4 bits in a byte, the lower bits are the first. scales (m, groups) and zeros (m, groups), where n / groups
    neighbours of a row share one, are in the input's dtype; without zeros, zero is the middle, 8 or 128. bias (m).
    Raises ValueError for other bits, and for a weight or groups that don't go with the input.
    """
    return torch.ops.accelplug.quantized_linear.default(input, weight, scales, zeros, bias, bits)


def composites() -> dict[Any, Callable[..., Any]]:
    """Each operator and the function that it is made of: the form of a decomposition table."""
    return dict(_composites)


_composites: dict[Any, Callable[..., Any]] = {}


def _define(
    schema: str, composite: Callable[..., Tensor], keep: Callable[..., None], backward: Callable[..., Any]
) -> None:
    """Defines an operator; ``keep(ctx, inputs, output)`` saves what ``backward(ctx, gradient)`` needs."""
    name = schema.partition("(")[0]
    _library.define(schema)
    _library.impl(name, composite, "CompositeExplicitAutograd")
    torch.library.register_autograd(f"accelplug::{name}", backward, setup_context=keep, lib=_library)
    _composites[getattr(torch.ops.accelplug, name).default] = composite


def _widened(tensor: Tensor) -> Tensor:
    """In float32, or float64 where it is."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


# rms_norm


def _scale(wide: Tensor, eps: float) -> Tensor:
    return torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)


def _rms_norm(input: Tensor, weight: Tensor, eps: float) -> Tensor:
    wide = _widened(input)
    return ((wide * _scale(wide, eps)).to(input.dtype) * weight).to(input.dtype)


def _rms_norm_keep(ctx: Any, inputs: tuple[Tensor, Tensor, float], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:2])
    ctx.eps = inputs[2]


def _rms_norm_backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
    input, weight = ctx.saved_tensors
    wide, upper = _widened(input), _widened(gradient)
    scale = _scale(wide, ctx.eps)
    normal = wide * scale
    inner = upper * _widened(weight)
    of_input = scale * (inner - normal * (inner * normal).mean(-1, keepdim=True))
    return of_input.to(input.dtype), (upper * normal).sum_to_size(weight.shape).to(weight.dtype), None


# silu_and_mul


def _silu_and_mul(input: Tensor) -> Tensor:
    _require_even(input, "silu_and_mul")
    gate, value = input.chunk(2, -1)
    return torch.nn.functional.silu(gate) * value


def _silu_and_mul_keep(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _silu_and_mul_backward(ctx: Any, gradient: Tensor) -> Tensor:
    (input,) = ctx.saved_tensors
    gate, value = _widened(input).chunk(2, -1)
    upper = _widened(gradient)
    sigmoid = gate.sigmoid()
    of_gate = upper * value * sigmoid * (1 + gate * (1 - sigmoid))
    return torch.cat((of_gate, upper * gate * sigmoid), -1).to(input.dtype)


# rotary_embedding


def _rotary_embedding(input: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    _require_even(input, "rotary_embedding")
    first, second = input.chunk(2, -1)
    cos, sin = cos.unsqueeze(-2).to(input.dtype), sin.unsqueeze(-2).to(input.dtype)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


def _rotary_embedding_keep(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _rotary_embedding_backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    input, cos, sin = ctx.saved_tensors
    first, second = input.chunk(2, -1)
    upper, lower = gradient.chunk(2, -1)
    of_cos = (upper * first + lower * second).sum(-2).sum_to_size(cos.shape)
    of_sin = (lower * first - upper * second).sum(-2).sum_to_size(sin.shape)
    return _rotary_embedding(gradient, cos, -sin), of_cos.to(cos.dtype), of_sin.to(sin.dtype)


# quantized_linear


def _quantized_linear(
    input: Tensor, weight: Tensor, scales: Tensor, zeros: Tensor | None, bias: Tensor | None, bits: int
) -> Tensor:
    if bits not in (4, 8) or weight.shape[1] * 8 != input.shape[-1] * bits or input.shape[-1] % scales.shape[1]:
        raise ValueError(
            f"accelplug::quantized_linear takes weights of 4 or 8 bits, for whole groups of its input; got {bits} "
            f"bits, input {tuple(input.shape)}, weight {tuple(weight.shape)}, scales {tuple(scales.shape)}"
        )
    weights = _centred(weight, scales, zeros, bits) * scales.unsqueeze(-1)
    return torch.nn.functional.linear(input, weights.flatten(-2), bias)


def _centred(weight: Tensor, scales: Tensor, zeros: Tensor | None, bits: int) -> Tensor:
    """The values of the weights less what stands for zero, (m, groups, n / groups) in the dtype of the scales."""
    if bits == 4:
        weight = torch.stack((weight.bitwise_and(15), weight.bitwise_right_shift(4)), -1).flatten(-2)
    values = weight.to(scales.dtype).unflatten(-1, (scales.shape[1], -1))
    return values - (2 ** (bits - 1) if zeros is None else zeros.unsqueeze(-1))


def _quantized_linear_keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    *tensors, ctx.bits = inputs
    ctx.save_for_backward(*tensors)


def _quantized_linear_backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    input, weight, scales, zeros, bias = ctx.saved_tensors
    centred, shared = _centred(weight, scales, zeros, ctx.bits), scales.unsqueeze(-1)
    of_input = gradient @ (centred * shared).flatten(-2)
    of_weights = (gradient.flatten(0, -2).t() @ input.flatten(0, -2)).unflatten(-1, (scales.shape[1], -1))
    of_zeros = None if zeros is None else -(of_weights * shared).sum(-1)
    of_bias = None if bias is None else gradient.flatten(0, -2).sum(0)
    return of_input, None, (of_weights * centred).sum(-1), of_zeros, of_bias, None


def _require_even(input: Tensor, op: str) -> None:
    if input.shape[-1] % 2:
        raise ValueError(f"accelplug::{op} halves the last dimension of its input, got shape {tuple(input.shape)}")


_define("rms_norm(Tensor input, Tensor weight, float eps) -> Tensor", _rms_norm, _rms_norm_keep, _rms_norm_backward)
_define("silu_and_mul(Tensor input) -> Tensor", _silu_and_mul, _silu_and_mul_keep, _silu_and_mul_backward)
_define(
    "rotary_embedding(Tensor input, Tensor cos, Tensor sin) -> Tensor",
    _rotary_embedding,
    _rotary_embedding_keep,
    _rotary_embedding_backward,
)
_define(
    "quantized_linear(Tensor input, Tensor weight, Tensor scales, Tensor? zeros, Tensor? bias, int bits) -> Tensor",
    _quantized_linear,
    _quantized_linear_keep,
    _quantized_linear_backward,
)
