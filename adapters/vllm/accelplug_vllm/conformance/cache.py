"""Writes to the KV cache: what is written is what attention reads, and nothing else is touched."""

from __future__ import annotations

from typing import Any

import torch

from accelplug.conformance.checks import check, expect
from accelplug.conformance.comparing import TOLERANCES
from accelplug.conformance.subject import Subject
from accelplug_vllm.conformance import here
from accelplug_vllm.conformance.paged import Heads, Layer, Request
from accelplug_vllm.conformance.textbook import Rules

HEADS = Heads(2, 2, 64)
REMEDY = "look at do_kv_cache_update of the attention that serves the device"
SHARP = 100.0  # scores so far apart that a query reads one key alone
LEFT = 50.0  # what is in a cache before; large, and products with it are numbers in float16 too


def _layer(subject: Subject) -> Layer:
    return Layer(subject, here.dtype_name(subject), HEADS, Rules(SHARP))


def _tokens(layer: Layer, count: int, first: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Keys [tokens, KV heads, size] that point each another way, and values that tell whose they are."""
    own = torch.arange(first, first + count)
    key = torch.eye(HEADS.size)[own % HEADS.size][:, None].expand(-1, HEADS.keys, -1)
    value = (own + 1.0)[:, None, None].expand(-1, HEADS.keys, HEADS.size) / 64
    return key.to(layer.dtype), value.to(layer.dtype)


def _reads(layer: Layer, blocks: list[int], count: int, key: torch.Tensor, wanted: torch.Tensor, which: str) -> None:
    """Each of ``key`` finds its value among the first ``count`` tokens of the blocks, each asked in a step of its own
    as the last token of its request."""
    query = key.repeat_interleave(HEADS.queries // HEADS.keys, 1)
    for one, value in zip(query, wanted, strict=True):
        found = layer.attend([Request(1, count)], [blocks], one[None])
        expected = value.repeat_interleave(HEADS.queries // HEADS.keys, 0)[None]
        tolerance = TOLERANCES[layer.dtype]
        expect(
            torch.allclose(found.float(), expected.float(), atol=tolerance, rtol=tolerance),
            f"{which}: a query that wants the value {float(value[0, 0]):g} found {float(found[0, 0, 0]):g}",
        )


def _bytes(layer: Layer) -> torch.Tensor:
    """A copy of the whole cache, block by block, so that NaN equals itself."""
    return layer.cache.cpu().clone(memory_format=torch.contiguous_format).view(torch.uint8)


def _changed(before: torch.Tensor, after: torch.Tensor) -> set[int]:
    """The numbers of the blocks in which something changed."""
    return {int(block) for block in (before != after).flatten(1).any(1).nonzero()}


@check(REMEDY)
def what_is_written_to_slots_in_any_order_is_what_attention_reads(subject: Subject) -> None:
    layer = _layer(subject)
    blocks, count = [7, 2, 11], 2 * layer.block + 3
    key, value = _tokens(layer, min(count, HEADS.size))
    slots = [blocks[n // layer.block] * layer.block + n % layer.block for n in range(len(key))]
    order = torch.randperm(len(key), generator=torch.Generator().manual_seed(0))
    layer.write(key[order], value[order], [slots[n] for n in order.tolist()])
    some = torch.tensor([0, 1, layer.block - 1, layer.block, len(key) - 1])
    some = some[some < len(key)]
    _reads(layer, blocks, len(key), key[some], value[some], "written in any order")


@check("a slot of -1 is padding: leave it out, or write it to block 0, which vLLM gives to no request")
def a_token_whose_slot_is_minus_one_is_written_nowhere(subject: Subject) -> None:
    layer = _layer(subject)
    key, value = _tokens(layer, 3)
    before = _bytes(layer)
    layer.write(key, value, [-1, 3 * layer.block + 1, -1])
    changed = _changed(before, _bytes(layer)) - {0}
    expect(3 in changed, "the token between them was not written either")
    expect(changed == {3}, f"blocks {sorted(changed - {3})} of {len(before)} changed, which no token has a slot in")


@check(REMEDY)
def a_write_leaves_all_other_tokens_as_they_are(subject: Subject) -> None:
    layer = _layer(subject)
    count = layer.block
    key, value = _tokens(layer, count)
    layer.write(key, value, [5 * layer.block + n for n in range(count)])
    before = _bytes(layer)
    layer.write(key[:1], torch.full_like(value[:1], 9.0), [5 * layer.block + 4])
    changed = _changed(before, _bytes(layer))
    expect(changed <= {5}, f"blocks {sorted(changed)} changed, and only block 5 was written to")
    neighbours = torch.tensor([1, 3, 5, count - 1])
    _reads(layer, [5], count, key[neighbours], value[neighbours], "beside a token that was written again")


@check(REMEDY)
def a_slot_that_is_written_again_has_the_new_content(subject: Subject) -> None:
    layer = _layer(subject)
    key, value = _tokens(layer, 4)
    slots = [2 * layer.block + n for n in range(4)]
    layer.write(key, value, slots)
    layer.write(key.flip(0), value, slots)
    _reads(layer, [2], 4, key.flip(0), value, "written twice")


@check("mask what lies behind a request's last key")
def what_another_request_left_in_a_block_is_never_seen(subject: Subject) -> dict[str, Any]:
    """Numbers fail it. NaN, which a request leaves whose own numbers overflow, is reported: masking by 0 lets it by."""
    layer = _layer(subject)
    layer.cache.fill_(LEFT)
    key, value = _tokens(layer, 3)
    slots = [4 * layer.block + n for n in range(3)]
    layer.write(key, value, slots)
    _reads(layer, [4], 3, key, value, f"in a block with {LEFT:g} behind it")
    layer.cache.fill_(float("nan"))
    layer.write(key, value, slots)
    found = layer.attend([Request(1, 3)], [[4]], key[:1])
    return {"NaN of another request": "reaches the result" if found.isnan().any() else "stays where it is"}
