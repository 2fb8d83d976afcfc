"""Attention, 32 keys at a time: a tile's scores never leave the matrix unit, so the softmax is corrected as it goes."""

from __future__ import annotations

import torch

from accelplug_tessera import TILE

LOWEST = -1e30  # in the place of -inf, which would be NaN where a query sees no key of its first tiles


def attend(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, bias: torch.Tensor, scale: float
) -> torch.Tensor:
    """As accelplug.specs.AttentionSpec has it: ``query`` [requests, heads, queries, size], ``key`` and ``value``
    [requests, KV heads, keys, size], ``bias`` [requests, 1 or heads, queries, keys]; the result is like ``query``."""
    requests, heads, queries, size = query.shape
    kv_heads, keys = key.shape[1], key.shape[2]
    grouped = query.float().view(requests, kv_heads, heads // kv_heads, queries, size) * scale
    key, value = key.float()[:, :, None], value.float()[:, :, None]
    bias = bias.float().view(requests, min(bias.shape[1], kv_heads), -1, queries, keys)

    best = torch.full_like(grouped[..., :1], LOWEST)
    total = torch.zeros_like(best)
    found = torch.zeros_like(grouped[..., :1]).expand(*grouped.shape[:-1], value.shape[-1])
    for start in range(0, keys, TILE):
        tile = slice(start, start + TILE)
        scores = torch.matmul(grouped, key[..., tile, :].transpose(-1, -2)) + bias[..., tile]
        better = torch.maximum(best, scores.amax(-1, keepdim=True))
        kept, weights = torch.exp(best - better), torch.exp(scores - better)
        total = total * kept + weights.sum(-1, keepdim=True)
        found = found * kept + torch.matmul(weights, value[..., tile, :])
        best = better
    return (found / total).view(requests, heads, queries, -1).to(query.dtype)
