"""Latent attention (MLA): a token's cache is one latent vector and one rotated key, which all heads share.

Every token goes the way that vLLM calls decode. A head's query is multiplied into the latent space, so the cache's
content is the key of all heads and its latent part their value; vLLM multiplies the result back out. Prompts could be
computed with fewer multiplications by making each head's own keys, which would need a second attention.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from vllm.v1.attention.backend import AttentionType, CommonAttentionMetadata, MLAAttentionImpl

from accelplug_vllm.native import device
from accelplug_vllm.native.attention import cache, step
from accelplug_vllm.native.attention.backend import PagedAttention
from accelplug_vllm.native.attention.compute import Rules
from accelplug_vllm.native.attention.metadata import PagedMetadata, PagedMetadataBuilder


class LatentAttention(PagedAttention):
    """Paged latent attention on the device that is live in this process, in PyTorch's operators."""

    @staticmethod
    def get_impl_cls() -> type[LatentAttentionLayer]:
        return LatentAttentionLayer

    @staticmethod
    def get_builder_cls() -> type[LatentMetadataBuilder]:
        return LatentMetadataBuilder

    @classmethod
    def is_mla(cls) -> bool:
        return True


@dataclass
class LatentMetadata(PagedMetadata):
    """One step, all of whose requests and tokens vLLM takes for decodes."""

    num_actual_tokens: int = 0
    num_decodes: int = 0
    num_prefills: int = 0
    decode: bool = True

    @property
    def num_decode_tokens(self) -> int:
        return self.num_actual_tokens


class LatentMetadataBuilder(PagedMetadataBuilder):
    """As for other attention."""

    def build(
        self, common_prefix_len: int, common_attn_metadata: CommonAttentionMetadata, fast_build: bool = False
    ) -> LatentMetadata:
        given = common_attn_metadata
        made = super().build(common_prefix_len, given, fast_build)
        return LatentMetadata(made.pieces, made.slot_mapping, given.num_actual_tokens, given.num_reqs)


class LatentAttentionLayer(MLAAttentionImpl[LatentMetadata]):  # type: ignore[misc]
    """One attention layer of a model, between vLLM's projections into the latent space and out of it."""

    def __init__(
        self,
        num_heads: int,
        head_size: int,
        scale: float,
        num_kv_heads: int,
        alibi_slopes: list[float] | None,
        sliding_window: int | None,
        kv_cache_dtype: str,
        logits_soft_cap: float | None,
        attn_type: str,
        kv_sharing_target_layer_name: str | None,
        *,
        kv_lora_rank: int,
        **others: Any,
    ) -> None:
        if attn_type != AttentionType.DECODER or alibi_slopes is not None or kv_sharing_target_layer_name is not None:
            raise NotImplementedError("accelplug's latent attention is for decoders, without ALiBi or a shared cache")
        rules = Rules(float(scale), logits_soft_cap or 0.0)
        self.attention = step.Attention(rules, sliding_window, value_part=slice(kv_lora_rank))
        key_bytes = head_size * torch.get_default_dtype().itemsize
        self.most_keys = device.current().attention(attn_type).workspace_bytes // key_bytes
        self._latent = kv_lora_rank

    def do_kv_cache_update(
        self,
        kv_c_normed: torch.Tensor,
        k_pe: torch.Tensor,
        kv_cache: torch.Tensor,
        slot_mapping: torch.Tensor,
        kv_cache_dtype: str,
        k_scale: torch.Tensor,
    ) -> None:
        """Writes ``kv_c_normed`` [tokens, latent] and ``k_pe`` [tokens, 1, rotated] to the cache."""
        latent = kv_c_normed.unsqueeze(1)
        cache.write(kv_cache.unsqueeze(1), latent, k_pe.view(k_pe.shape[0], 1, -1), slot_mapping.flatten())

    def forward_mqa(
        self,
        q: torch.Tensor | tuple[torch.Tensor, torch.Tensor],
        kv_c_and_k_pe_cache: torch.Tensor,
        attn_metadata: LatentMetadata,
        layer: Any,
    ) -> tuple[torch.Tensor, None]:
        """``q``, [tokens, heads, latent] and [tokens, heads, rotated], against the cache [blocks, tokens, content], to
        [tokens, heads, latent]."""
        query = torch.cat(q, -1) if isinstance(q, tuple) else q
        output = query.new_zeros(*query.shape[:2], self._latent)
        step.run(attn_metadata.pieces, self.attention, query, None, None, kv_c_and_k_pe_cache.unsqueeze(1), output)
        return output, None
