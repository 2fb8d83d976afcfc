"""vLLM's layers over the operators of `accelplug.ops`, below which the device's kernels are chosen call by call.

Each function is given vLLM's class and returns a subclass that vLLM uses on a platform from outside of its tree. Where
no kernel takes a call, the operator is made of PyTorch's as vLLM's own layer is.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from accelplug import ops
from accelplug.tables import tables_for


def rms_norm(layer: type, device_type: str) -> type:
    """RMSNorm, for where vLLM's IR can't be asked because its implementations are those of another device."""
    from vllm.ir.op import IrOp

    native = IrOp.registry["rms_norm"].impls["native"].impl_fn

    class AccelplugRMSNorm(layer):  # type: ignore[misc]
        def forward_oot(self, x: Tensor, residual: Tensor | None = None) -> Tensor | tuple[Tensor, Tensor]:
            total = x if residual is None else x + residual
            weight = self.weight if self.has_weight else None
            if weight is None or self.variance_size_override is not None:
                normal = native(total, weight, self.variance_epsilon, self.variance_size_override)
            else:
                normal = ops.rms_norm(total, weight, self.variance_epsilon)
            return normal if residual is None else (normal, total)

    return AccelplugRMSNorm


def silu_and_mul(layer: type, device_type: str) -> type:
    """SiluAndMul."""

    class AccelplugSiluAndMul(layer):  # type: ignore[misc]
        def forward_oot(self, x: Tensor) -> Tensor:
            return ops.silu_and_mul(x)

    return AccelplugSiluAndMul


def rotary_embedding(layer: type, device_type: str) -> type:
    """RotaryEmbedding, and the classes derived from it that differ in their angles only."""
    # Query and key are slices of one product, and kernels rarely take those.
    lay_out: Callable[[Tensor], Tensor] = (
        Tensor.contiguous if runs(device_type, "accelplug::rotary_embedding")[:-1] else lambda tensor: tensor
    )

    class AccelplugRotaryEmbedding(layer):  # type: ignore[misc]
        def forward_oot(
            self, positions: Tensor, query: Tensor, key: Tensor | None = None
        ) -> tuple[Tensor, Tensor | None]:
            if not self.is_neox_style:  # its pairs are neighbours, which isn't the operator's order
                rotated: tuple[Tensor, Tensor | None] = self.forward_native(positions, query, key)
                return rotated
            angles = self._match_cos_sin_cache_dtype(query).index_select(0, positions.flatten())
            cos, sin = map(lay_out, angles.chunk(2, dim=-1))
            return self._rotated(query, cos, sin), None if key is None else self._rotated(key, cos, sin)

        def _rotated(self, states: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
            heads = states.view(cos.shape[0], -1, self.head_size)
            rotated = ops.rotary_embedding(lay_out(heads[..., : self.rotary_dim]), cos, sin)
            if self.rotary_dim < self.head_size:
                rotated = torch.cat((rotated, heads[..., self.rotary_dim :]), dim=-1)
            return rotated.reshape(states.shape)

    return AccelplugRotaryEmbedding


def runs(device_type: str, op: str) -> tuple[str, ...]:
    """What runs an operator of accelplug's on the device, in order: its kernels, and the operator itself, made of
    others."""
    tables = tables_for(device_type)
    kernels = tables.kernels.order(op) if tables is not None else []
    return (*(str(made.kernel) for made in kernels), op)


def said(device_type: str) -> list[str]:
    """The kernels of a device in a line, for those who start a server; nothing where it has none."""
    tables = tables_for(device_type)
    first = {op: tables.kernels.order(op) for op in tables.kernels.by_op} if tables is not None else {}
    kernels = [f"{order[0].kernel} for {op}" for op, order in first.items() if order]
    return [f"kernels (accelplug explain --op says more): {', '.join(kernels)}"] if kernels else []
