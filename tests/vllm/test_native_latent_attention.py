"""Latent attention in the latent space against each head's own keys and values, written out in float64."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from accelplug_vllm.native import device
from accelplug_vllm.native.attention import step
from accelplug_vllm.native.attention.latent import LatentAttentionLayer, LatentMetadata

from accelplug.specs import AttentionSpec

BLOCK, HEADS, LATENT, ROTATED, PLAIN, VALUE, SCALE = 8, 3, 16, 4, 10, 6, 0.3
EXACT = {torch.float32: 1e-5, torch.bfloat16: 5e-2}


@pytest.fixture(autouse=True)
def _a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    here = SimpleNamespace(attention=lambda attn_type: AttentionSpec())
    monkeypatch.setattr(device, "current", lambda: here)


def layer() -> LatentAttentionLayer:
    shape = {"q_lora_rank": None, "kv_lora_rank": LATENT, "v_head_dim": VALUE, "qk_head_dim": PLAIN + ROTATED}
    shape |= {"qk_nope_head_dim": PLAIN, "qk_rope_head_dim": ROTATED}
    return LatentAttentionLayer(
        HEADS, LATENT + ROTATED, SCALE, 1, None, None, "auto", None, "decoder", None, kv_b_proj=None, **shape
    )


@pytest.mark.parametrize("dtype", EXACT, ids=str)
@pytest.mark.parametrize(
    "requests",
    [((17, 17),), ((1, 1), (1, 33), (1, 8)), ((1, 9), (7, 7), (5, 30))],
    ids=["prefill", "decode", "mixed"],
)
def test_it_is_attention_with_keys_and_values_of_each_head(
    requests: tuple[tuple[int, int], ...], dtype: torch.dtype
) -> None:
    rng = torch.Generator().manual_seed(0)

    def numbers(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=rng).to(dtype)

    to_keys, to_values = numbers(HEADS, PLAIN, LATENT) / 4, numbers(HEADS, LATENT, VALUE) / 4
    widths, lengths = (np.array(column, dtype=np.int32) for column in zip(*requests, strict=True))
    plain, rotated = numbers(int(widths.sum()), HEADS, PLAIN), numbers(int(widths.sum()), HEADS, ROTATED)
    latents, keys = [numbers(int(n), LATENT) for n in lengths], [numbers(int(n), 1, ROTATED) for n in lengths]

    attention, blocks = layer(), -(-int(lengths.max()) // BLOCK)
    table = torch.arange(1, len(requests) * blocks + 1, dtype=torch.int32).view(-1, blocks)
    cache = torch.full((table.numel() + 1, BLOCK, LATENT + ROTATED), float("nan"), dtype=dtype)
    for row, (latent, key) in enumerate(zip(latents, keys, strict=True)):
        place = torch.arange(len(latent))
        slots = table[row, place // BLOCK] * BLOCK + place % BLOCK
        attention.do_kv_cache_update(latent, key, cache, slots, "auto", torch.ones(()))
    starts = torch.tensor([0, *itertools.accumulate(widths.tolist())], dtype=torch.int32)
    batch = step.Batch(widths, lengths, starts, torch.from_numpy(lengths), table)
    pieces = step.prepare(batch, step.Needs({None}, False, dtype, BLOCK, attention.most_keys))
    metadata = LatentMetadata(pieces, starts, int(widths.sum()), len(requests))
    assert metadata.num_decode_tokens == len(plain), "vLLM then sends all tokens this way"

    query = (torch.einsum("thp,hpl->thl", plain, to_keys), rotated)
    found, _ = attention.forward_mqa(query, cache, metadata, None)
    found = torch.einsum("thl,hlv->thv", found, to_values)

    expected = []
    parts = zip(plain.split(widths.tolist()), rotated.split(widths.tolist()), latents, keys, strict=True)
    for q, q_rotated, latent, key in parts:
        own = torch.einsum("hpl,kl->hkp", to_keys.double(), latent.double())
        scores = torch.einsum("thp,hkp->htk", q.double(), own)
        scores += torch.einsum("thr,kr->htk", q_rotated.double(), key[:, 0].double())
        at, to = torch.arange(len(q))[:, None] + len(latent) - len(q), torch.arange(len(latent))[None]
        shares = torch.softmax((scores * SCALE).masked_fill(to > at, -torch.inf), -1)
        values = torch.einsum("kl,hlv->hkv", latent.double(), to_values.double())
        expected.append(torch.einsum("htk,hkv->thv", shares, values))
    torch.testing.assert_close(found.double(), torch.cat(expected), atol=EXACT[dtype], rtol=EXACT[dtype])
