"""Attention as vLLM runs it on the device, against a textbook's in float64: batches, heads, dtypes and masks."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch

from accelplug.conformance.checks import NamedCheck
from accelplug.conformance.comparing import TOLERANCES
from accelplug.conformance.subject import Subject
from accelplug_vllm.conformance import here
from accelplug_vllm.conformance.paged import Heads, Layer, Request, blocks_for
from accelplug_vllm.conformance.textbook import Rules, attention

REMEDY = (
    "look at the attention that serves the device: the hook accelplug_attention names a vendor's own; else it is made "
    "of PyTorch's operators, which the area ops examines"
)
SCALE = 0.125
BATCHES: dict[str, tuple[Request, ...]] = {
    "prompts": (Request(17, 17), Request(40, 40)),
    "answers": (Request(1, 1), Request(1, 33), Request(1, 8)),
    "chunks of prompts": (Request(3, 20), Request(9, 50)),
    "answers beside prompts": (Request(1, 9), Request(1, 40), Request(7, 7), Request(5, 30)),
}
HEADS = {
    "one KV head for each": Heads(4, 4, 64),
    "shared KV heads": Heads(4, 2, 64),
    "one KV head for all": Heads(4, 1, 64),
    "heads of 128": Heads(2, 1, 128),
}
MASKS = {
    "a sliding window": Rules(SCALE, window=5),
    "a window that reaches over blocks": Rules(SCALE, window=20),
    "a soft cap": Rules(SCALE, soft_cap=2.0),
    "ALiBi": Rules(SCALE, slopes=(0.5, 0.25, 0.125, 0.0625)),
    "sinks": Rules(SCALE, sinks=(0.0, 1.0, -1.0, 2.0)),
}
MIXED, USUAL = "answers beside prompts", "shared KV heads"


def checks(subject: Subject) -> list[NamedCheck]:
    """One for each dtype, kind of batch, of heads, and of mask; in a quick run the mixed batch in one dtype."""
    plain, found = Rules(SCALE), []
    for dtype in here.dtypes(subject):
        best = dtype == here.dtype_name(subject)
        cases = [(batch, batch, USUAL, plain, best and batch == MIXED) for batch in BATCHES]
        cases += [(heads, MIXED, heads, plain, False) for heads in HEADS if heads != USUAL]
        cases += [(mask, MIXED, USUAL, rules, best) for mask, rules in MASKS.items()]
        found += [
            _named(f"{name}, {dtype}", dtype, batch, heads, rules, quick=quick)
            for name, batch, heads, rules, quick in cases
        ]
        encoder = Rules(SCALE, causal=False)
        found.append(
            _named(f"an encoder without a cache, {dtype}", dtype, "prompts", USUAL, encoder, quick=best, cached=False)
        )
    return found


def _named(
    name: str, dtype: str, batch: str, heads: str, rules: Rules, *, quick: bool, cached: bool = True
) -> NamedCheck:
    function = functools.partial(_check, dtype, BATCHES[batch], HEADS[heads], rules, cached)
    return NamedCheck(name, function, REMEDY, quick=quick)


def _check(
    dtype: str, requests: Sequence[Request], heads: Heads, rules: Rules, cached: bool, subject: Subject
) -> dict[str, Any]:
    layer = Layer(subject, dtype, heads, rules, cached=cached)
    query, key, value = _numbers(requests, heads, layer.dtype)
    blocks = blocks_for(requests, layer.block)
    _write_what_came_before(layer, requests, blocks, key, value)
    new = [_last(x, requests) for x in (key, value)]
    found = layer.attend(requests, blocks, torch.cat(query), *(torch.cat(x) for x in new))
    wanted = torch.cat([attention(q, k, v, rules) for q, k, v in zip(query, key, value, strict=True)])
    tolerance = TOLERANCES[layer.dtype]
    error = (found.double() - wanted).abs()
    torch.testing.assert_close(found.double(), wanted, atol=tolerance, rtol=tolerance)
    return {"attention": layer.backend.get_name(), "largest error": f"{float(error.max()):.1e}"}


def _numbers(
    requests: Sequence[Request], heads: Heads, dtype: torch.dtype
) -> tuple[list[torch.Tensor], list[torch.Tensor], list[torch.Tensor]]:
    """For each request its queries [queries, heads, size], and all its keys and values [keys, KV heads, size], rounded
    to the dtype; the same on every machine. Keys are large enough for a softmax that isn't flat."""
    random = torch.Generator().manual_seed(0)

    def made(tokens: int, of: int, scale: float = 1.0) -> torch.Tensor:
        return (torch.randn(tokens, of, heads.size, generator=random) * scale).to(dtype)

    query = [made(each.queries, heads.queries) for each in requests]
    key = [made(each.keys, heads.keys, 2.0) for each in requests]
    return query, key, [made(each.keys, heads.keys) for each in requests]


def _last(tensors: Sequence[torch.Tensor], requests: Sequence[Request]) -> list[torch.Tensor]:
    """Of each request what is new in this step."""
    return [tensor[each.keys - each.queries :] for tensor, each in zip(tensors, requests, strict=True)]


def _write_what_came_before(
    layer: Layer,
    requests: Sequence[Request],
    blocks: Sequence[Sequence[int]],
    key: Sequence[torch.Tensor],
    value: Sequence[torch.Tensor],
) -> None:
    """The keys and values of earlier steps, each request's in a step of its own."""
    for each, own, k, v in zip(requests, blocks, key, value, strict=True):
        before = each.keys - each.queries
        if before and layer.cached:
            query = torch.zeros(before, layer.heads.queries, layer.heads.size)
            layer.attend([Request(before, before)], [own], query, k[:before], v[:before])
