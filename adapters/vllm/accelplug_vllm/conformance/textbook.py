"""Attention as a textbook has it: one request, every key spelt out, in float64 on the CPU."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Rules:
    """What a layer asks of its scores.

    ``window`` is a query's own key and those before it, in all so many (None: all), and without a cache as many behind
    it. ``soft_cap`` limits scores to within it (0: no limit). ``slopes`` [heads] add ALiBi's bias. ``sinks`` [heads]
    are the logit of one more key that has no value. ``causal``: a query sees no key behind its own.
    """

    scale: float
    window: int | None = None
    soft_cap: float = 0.0
    slopes: tuple[float, ...] = ()
    sinks: tuple[float, ...] = ()
    causal: bool = True


def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, rules: Rules) -> torch.Tensor:
    """[queries, heads, size] of one request, whose last query is at its last key.

    ``query`` is [queries, heads, size], ``key`` and ``value`` are [keys, KV heads, size]; consecutive heads share a KV
    head.
    """
    groups = query.shape[1] // key.shape[1]
    q = query.double().transpose(0, 1)
    k, v = (x.double().repeat_interleave(groups, 1).transpose(0, 1) for x in (key, value))
    at = torch.arange(len(query))[:, None] + len(key) - len(query)
    to = torch.arange(len(key))[None]
    scores = q @ k.transpose(1, 2) * rules.scale
    if rules.soft_cap:
        scores = rules.soft_cap * torch.tanh(scores / rules.soft_cap)
    if rules.slopes:
        scores = scores + torch.tensor(rules.slopes, dtype=torch.float64)[:, None, None] * (to - at)
    scores = scores.masked_fill(~_visible(at, to, rules), -torch.inf)
    if rules.sinks:
        sinks = torch.tensor(rules.sinks, dtype=torch.float64)[:, None, None].expand(-1, len(query), 1)
        weights = torch.softmax(torch.cat((scores, sinks), -1), -1)[..., :-1]
    else:
        weights = torch.softmax(scores, -1)
    return (weights @ v).transpose(0, 1)


def _visible(at: torch.Tensor, to: torch.Tensor, rules: Rules) -> torch.Tensor:
    seen = torch.ones_like(at + to, dtype=torch.bool)
    if rules.causal:
        seen = seen & (to <= at)
    if rules.window is not None:
        seen = seen & (to > at - rules.window)
        if not rules.causal:
            seen = seen & (to < at + rules.window)
    return seen
