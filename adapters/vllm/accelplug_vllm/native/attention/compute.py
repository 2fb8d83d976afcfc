"""Attention itself, over queries, keys and values that lie side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812

Compute = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, float], torch.Tensor]
"""``compute(query, key, value, bias, scale)``, as `accelplug.specs.AttentionSpec` has it."""


@dataclass(frozen=True)
class Rules:
    """What a model asks of its scores, the same for every step.

    ``scale`` multiplies a query's product with a key. ``soft_cap`` limits scores to within it (0: no limit).
    ``slopes`` [heads] add ALiBi's bias. ``sinks`` [heads] are the logit of one more key that has no value.
    """

    scale: float
    soft_cap: float = 0.0
    slopes: torch.Tensor | None = None
    sinks: torch.Tensor | None = None


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    bias: torch.Tensor,
    distances: torch.Tensor | None,
    rules: Rules,
    compute: Compute,
) -> torch.Tensor:
    """[requests, heads, queries, size of a value].

    ``query`` is [requests, heads, queries, size], ``key`` and ``value`` [requests, KV heads, keys, size]; consecutive
    heads share a KV head. ``bias`` [requests, 1, queries, keys] is added to the scores. ``distances`` has its shape,
    and is only needed for ALiBi. ``compute`` does the rest where the model asks for no more than a scale and a bias.
    """
    if rules.slopes is not None:
        assert distances is not None
        bias = bias + (rules.slopes[:, None, None] * distances).to(bias.dtype)
    if rules.soft_cap or rules.sinks is not None:
        return _step_by_step(query, key, value, bias, rules)
    return compute(query, key, value, bias, rules.scale)


def pytorch(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, bias: torch.Tensor, scale: float
) -> torch.Tensor:
    """PyTorch's, for a device whose backend brings none of its own."""
    shared = query.shape[1] != key.shape[1]
    return F.scaled_dot_product_attention(
        query, key, value, attn_mask=bias, scale=scale, **({"enable_gqa": True} if shared else {})
    )


def _step_by_step(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, bias: torch.Tensor, rules: Rules
) -> torch.Tensor:
    """In float32, as a fused kernel would keep its scores: PyTorch's fused ones take neither a cap nor a sink."""
    requests, heads, queries, _ = query.shape
    groups = heads // key.shape[1]
    grouped = (requests, key.shape[1], groups, queries)
    scores = torch.matmul(query.float().view(*grouped, -1) * rules.scale, key.float().transpose(-1, -2)[:, :, None])
    if rules.soft_cap:
        scores = torch.tanh(scores / rules.soft_cap) * rules.soft_cap
    scores = scores.view(requests, heads, queries, -1) + bias.float()
    if rules.sinks is not None:
        sinks = rules.sinks.float()[:, None, None].expand(requests, -1, queries, 1)
        weights = torch.softmax(torch.cat((scores, sinks), -1), -1)[..., :-1]
    else:
        weights = torch.softmax(scores, -1)
    found = torch.matmul(weights.view(*grouped, -1), value.float()[:, :, None])
    return found.view(requests, heads, queries, -1).to(query.dtype)
