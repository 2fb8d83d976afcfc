"""What one step's attention needs besides queries and keys, worked out once for all layers of a KV-cache group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from vllm.config import VllmConfig, get_layers_from_vllm_config
from vllm.model_executor.layers.attention import Attention
from vllm.v1.attention.backend import AttentionMetadata, AttentionMetadataBuilder, CommonAttentionMetadata
from vllm.v1.kv_cache_interface import AttentionSpec, EncoderOnlyAttentionSpec

from accelplug_vllm.native import device
from accelplug_vllm.native.attention import layout, masks
from accelplug_vllm.native.attention.pieces import Piece, divide


@dataclass(frozen=True)
class Keys:
    """The keys of a piece for layers with the same sliding window.

    ``slots`` [requests, keys] is where they are in the cache, None where there is no cache. ``bias`` and ``distances``
    are as `masks` has them; ``distances`` only where a layer uses ALiBi.
    """

    slots: torch.Tensor | None
    bias: torch.Tensor
    distances: torch.Tensor | None


@dataclass(frozen=True)
class PieceOfBatch:
    """One piece on the device. ``keys`` is by sliding window, None for layers without."""

    piece: Piece
    queries: layout.Queries
    keys: dict[int | None, Keys]


@dataclass
class PagedMetadata(AttentionMetadata):  # type: ignore[misc]
    """One step. ``slot_mapping`` [tokens] is where new keys go; vLLM's cross attention replaces it."""

    pieces: list[PieceOfBatch]
    slot_mapping: torch.Tensor


class PagedMetadataBuilder(AttentionMetadataBuilder[PagedMetadata]):  # type: ignore[misc]
    """Called by vLLM's model runner before each step."""

    def __init__(
        self, kv_cache_spec: AttentionSpec, layer_names: list[str], vllm_config: VllmConfig, device: torch.device
    ) -> None:
        super().__init__(kv_cache_spec, layer_names, vllm_config, device)
        # The runner then puts requests with one query before the others, so that few pieces are enough.
        self._init_reorder_batch_threshold(1)
        self._no_cache = isinstance(kv_cache_spec, EncoderOnlyAttentionSpec)
        self._dtype = vllm_config.model_config.dtype
        layers = get_layers_from_vllm_config(vllm_config, Attention, layer_names).values()
        # The windows of the layers, not of the group: a group may hold layers with a window and without.
        self._windows: set[int | None] = {layer.impl.sliding_window for layer in layers}
        self._distances = any(layer.impl.rules.slopes is not None for layer in layers)
        self._most_keys = min(layer.impl.most_keys for layer in layers)

    def build(
        self,
        common_prefix_len: int,
        common_attn_metadata: CommonAttentionMetadata,
        fast_build: bool = False,
    ) -> PagedMetadata:
        batch = common_attn_metadata
        starts = batch.query_start_loc_cpu[: batch.num_reqs + 1].numpy()
        widths = starts[1:] - starts[:-1]
        # At least as long as the requests are; what they are exactly, only the device knows under async scheduling.
        lengths = widths if self._no_cache else batch.seq_lens_cpu_upper_bound[: batch.num_reqs].numpy()
        pieces = divide(widths.tolist(), lengths.tolist(), self._most_keys, device.current().padded_length)
        return PagedMetadata([self._piece(piece, widths, batch) for piece in pieces], batch.slot_mapping)

    def _piece(self, piece: Piece, widths: Any, batch: CommonAttentionMetadata) -> PieceOfBatch:
        queries = layout.queries(piece, widths[piece.rows], self.device)
        return PieceOfBatch(piece, queries, {window: self._keys(piece, batch, window) for window in self._windows})

    def _keys(self, piece: Piece, batch: CommonAttentionMetadata, window: int | None) -> Keys:
        ends = batch.query_start_loc[piece.first : piece.first + piece.requests + 1]
        query_lengths = ends[1:] - ends[:-1]
        # Without a cache a request is its own queries, all of which may see each other.
        lengths = query_lengths if self._no_cache else batch.seq_lens[piece.rows]
        keys = piece.queries if self._no_cache else layout.keys_within(piece, window)
        where = layout.positions(piece, query_lengths, lengths, window=None if self._no_cache else window, keys=keys)
        causal = batch.causal[piece.rows] if isinstance(batch.causal, torch.Tensor) else batch.causal
        seen = masks.visible(where, causal=causal, window=window, both_ways=self._no_cache)
        return Keys(
            None if self._no_cache else layout.slots(where, batch.block_table_tensor[piece.rows], self._block_size),
            masks.bias(seen, self._dtype),
            masks.distances(where) if self._distances else None,
        )

    @property
    def _block_size(self) -> int:
        return int(self.kv_cache_spec.block_size)
