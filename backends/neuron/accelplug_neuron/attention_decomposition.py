"""Attention for devices that override PyTorch's, as plain operators. Imports torch."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> Any:
    """``_scaled_dot_product_fused_attention_overrideable``; with dropout it stays whole.

    Shapes: query ``[batch, heads, L, E]``, key ``[batch, kv_heads, S, E]``, value ``[batch, kv_heads, S, V]``; the
    result ``[batch, heads, L, V]`` in the dtype of query, the log-sum-exp ``[batch, heads, L]`` in float32. A row with
    nothing to attend to is zero. A causal mask is aligned at the top left.
    """
    if dropout_p or query.dim() != 4:
        return NotImplemented
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = query.matmul(key.transpose(-2, -1)).to(torch.float32) * factor
    if is_causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=query.device).tril()
        scores = torch.where(seen, scores, -math.inf)
    if bias is not None:
        scores = torch.where(bias, scores, -math.inf) if bias.dtype == torch.bool else scores + bias
    weights = torch.ops.aten._safe_softmax.default(scores, -1)
    result = weights.to(query.dtype).matmul(value)
    unused = torch.zeros([], dtype=torch.int64, device=query.device)
    mask = torch.empty([0], dtype=query.dtype, device=query.device)
    return result, scores.logsumexp(-1), None, None, query.shape[-2], key.shape[-2], unused, unused, mask
