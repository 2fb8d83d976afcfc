"""Which query may see which key."""

from __future__ import annotations

import torch

from accelplug_vllm.native.attention.layout import Positions


def visible(
    where: Positions, *, causal: bool | torch.Tensor, window: int | None, both_ways: bool = False
) -> torch.Tensor:
    """[requests, queries, keys], true where the query sees the key.

    ``causal`` may differ by request ([requests]). A ``window`` of 4 is the query's own key and the 3 before it, and
    with ``both_ways`` the 3 after it too. Where there is no key, everything is seen: a row of a softmax must see
    something.
    """
    query, key = where.queries[:, :, None], where.keys[:, None, :]
    seen = key < where.lengths[:, :, None]
    if isinstance(causal, torch.Tensor):
        seen = seen & ((key <= query) | ~causal.bool()[:, None, None])
    elif causal:
        seen = seen & (key <= query)
    if window is not None:
        seen = seen & (key > query - window)
        if both_ways:
            seen = seen & (key < query + window)
    seen = seen | (where.lengths == 0)[:, :, None]
    return seen.expand(-1, query.shape[1], -1)  # also where all of a request's queries see the same


def bias(seen: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """What is added to the scores, [requests, 1, queries, keys]: 0 where the key is seen."""
    return torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill(~seen, float("-inf"))[:, None]


def distances(where: Positions) -> torch.Tensor:
    """How far a key lies from the query, 0 or less for those before it: [requests, 1, queries, keys]. For ALiBi."""
    return (where.keys[:, None, :] - where.queries[:, :, None])[:, None]
