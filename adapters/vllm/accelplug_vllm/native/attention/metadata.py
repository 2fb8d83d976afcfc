"""vLLM's interface to `step`: called by its model runner before each step, once for each KV-cache group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from vllm.config import VllmConfig, get_layers_from_vllm_config
from vllm.model_executor.layers.attention_layer_base import AttentionLayerBase
from vllm.v1.attention.backend import AttentionMetadata, AttentionMetadataBuilder, CommonAttentionMetadata
from vllm.v1.kv_cache_interface import AttentionSpec, EncoderOnlyAttentionSpec

from accelplug_vllm.native import device as devices
from accelplug_vllm.native import shapes
from accelplug_vllm.native.attention import step
from accelplug_vllm.native.attention.layout import Send
from accelplug_vllm.native.attention.pieces import (
    AS_IT_IS,
    COST_OF_A_PIECE,
    COST_OF_A_PIECE_ON_THE_HOST,
    Padding,
)


@dataclass
class PagedMetadata(AttentionMetadata):  # type: ignore[misc]
    """One step. ``slot_mapping`` [tokens] is where new keys go; vLLM's cross attention replaces it."""

    pieces: list[step.PieceOfBatch]
    slot_mapping: torch.Tensor


class PagedMetadataBuilder(AttentionMetadataBuilder[PagedMetadata]):  # type: ignore[misc]
    """Works out what all layers of a group need of a step."""

    def __init__(
        self, kv_cache_spec: AttentionSpec, layer_names: list[str], vllm_config: VllmConfig, device: torch.device
    ) -> None:
        super().__init__(kv_cache_spec, layer_names, vllm_config, device)
        # The runner then puts requests with one query before the others, so that few pieces are enough.
        self._init_reorder_batch_threshold(1)
        self._no_cache = isinstance(kv_cache_spec, EncoderOnlyAttentionSpec)
        here = devices.current()
        layers = get_layers_from_vllm_config(vllm_config, AttentionLayerBase, layer_names).values()
        self._needs = _needs(kv_cache_spec, vllm_config, here, [layer.impl for layer in layers])
        self._ahead: tuple[np.ndarray, np.ndarray, step.Divided] | None = None

    def divide_ahead(self, widths: np.ndarray, longest: np.ndarray, send: Send) -> None:
        """For the next `build`: what it will need on the device can then go there with other things.

        ``widths`` and ``longest`` [requests] are as in `step.Batch`. `build` does without where it is given others.
        """
        longest = widths if self._no_cache else longest
        self._ahead = widths, longest, step.divided(widths, longest, self._needs, send)

    def taken(self, widths: np.ndarray, longest: np.ndarray) -> step.Divided | None:
        """What was divided ahead, once, if it was this batch."""
        ahead, self._ahead = self._ahead, None
        if ahead and np.array_equal(ahead[0], widths) and np.array_equal(ahead[1], longest):
            return ahead[2]
        return None

    def build(
        self,
        common_prefix_len: int,
        common_attn_metadata: CommonAttentionMetadata,
        fast_build: bool = False,
    ) -> PagedMetadata:
        given = common_attn_metadata
        requests = given.num_reqs
        ends = given.query_start_loc_cpu[: requests + 1].numpy()
        starts = given.query_start_loc[: requests + 1]
        widths = ends[1:] - ends[:-1]
        batch = step.Batch(
            widths=widths,
            # Without a cache a request is its own queries. With one, only the device knows how long it is exactly.
            longest=widths if self._no_cache else given.seq_lens_cpu_upper_bound[:requests].numpy(),
            starts=starts,
            lengths=starts[1:] - starts[:-1] if self._no_cache else given.seq_lens[:requests],
            block_table=None if self._no_cache else given.block_table_tensor[:requests],
            causal=given.causal,
        )
        ahead = self.taken(batch.widths, batch.longest)
        return PagedMetadata(step.prepare(batch, self._needs, ahead), given.slot_mapping)


def _needs(spec: AttentionSpec, config: VllmConfig, here: devices.NativeDevice, impls: Sequence[Any]) -> step.Needs:
    """Of the layers, not of the group: one group may hold layers with a window and without.

    A builder on its own, as in vLLM's tests, has no layers: the cache's ``spec`` then stands for them.
    """
    return step.Needs(
        windows={impl.attention.window for impl in impls} or {getattr(spec, "sliding_window", None)},
        distances=any(impl.attention.rules.slopes is not None for impl in impls),
        dtype=config.model_config.dtype,
        block_size=spec.block_size,
        most_keys=min((impl.most_keys for impl in impls), default=config.model_config.max_model_len),
        padding=_padding(shapes.of(config, here)),
        cost_of_a_piece=COST_OF_A_PIECE_ON_THE_HOST if here.simulated else COST_OF_A_PIECE,
    )


def _padding(made: shapes.Shapes | None) -> Padding:
    """A single query stays one: steps of answers have one each, prompts more."""
    if made is None:
        return AS_IT_IS
    tokens = made.tokens
    return Padding(made.sequences.choose, lambda n: n if n == 1 else tokens.choose(n), made.keys.choose)
