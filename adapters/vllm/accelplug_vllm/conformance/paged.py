"""One attention layer of vLLM's with a paged cache of its own, driven as vLLM's model runner drives it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from vllm.config import set_current_vllm_config
from vllm.model_executor.layers.attention import Attention
from vllm.v1 import kv_cache_interface
from vllm.v1.attention.backend import AttentionType, CommonAttentionMetadata
from vllm.v1.attention.selector import get_attn_backend

from accelplug.conformance.checks import Skip
from accelplug.conformance.subject import Subject
from accelplug.errors import BadInputError
from accelplug_vllm.conformance import here
from accelplug_vllm.conformance.textbook import Rules

BLOCKS = 64  # of a cache; the first is the one that vLLM never gives to a request
TOKENS = 16  # of a block, where the attention leaves the choice

_numbers = itertools.count()


@dataclass(frozen=True)
class Heads:
    """Of a layer: how many there are for queries, for keys and values, and the size of each."""

    queries: int
    keys: int
    size: int


@dataclass(frozen=True)
class Request:
    """A request's part of a step: so many queries, the last of which is at the last of ``keys`` keys in all."""

    queries: int
    keys: int


class Layer:
    """The layer on the device that is examined. Tensors go in and come out on the CPU.

    Raises Skip where the attention that serves the device says that it has no such layers.
    """

    def __init__(self, subject: Subject, dtype: str, heads: Heads, rules: Rules, *, cached: bool = True) -> None:
        platform = here.platform(subject)
        self.heads, self.rules, self.cached = heads, rules, cached
        self.dtype = here.torch_dtype(dtype)
        self.device = torch.device("cpu") if platform.device_type == "cpu" else torch.device(platform.device_type, 0)
        self._config = here.configuration(subject.name, dtype)
        self._kind = AttentionType.DECODER if cached else AttentionType.ENCODER_ONLY
        with set_current_vllm_config(self._config):
            self.backend = self._chosen()
            self._refuse()
            self._made = self._layer()
            self._builder = self.backend.get_builder_cls()(
                self._spec(), [self._made.layer_name], self._config, self.device
            )
        self.cache = self._empty_cache()

    @property
    def block(self) -> int:
        """How many tokens a block has."""
        size: int = self.backend.get_preferred_block_size(TOKENS)
        return size

    def write(self, key: torch.Tensor, value: torch.Tensor, slots: Sequence[int]) -> None:
        """Writes ``key`` and ``value`` [tokens, KV heads, size] where ``slots`` say; -1 is nowhere."""
        if self.backend.forward_includes_kv_cache_update:
            raise Skip(f"the attention {self.backend.get_name()} writes to the cache while it computes")
        where = torch.tensor(slots, dtype=torch.int64, device=self.device)
        self._made.impl.do_kv_cache_update(self._made, self._there(key), self._there(value), self.cache, where)

    def attend(
        self, requests: Sequence[Request], blocks: Sequence[Sequence[int]], query: torch.Tensor, *new: torch.Tensor
    ) -> torch.Tensor:
        """One step: what ``query`` [tokens, heads, size] finds. ``blocks`` are the numbers of each request's blocks.

        ``new`` are the key and value [tokens, KV heads, size] of the same tokens, which are written first; without
        them the cache is read as it is.
        """
        metadata = self._builder.build(0, self._metadata(requests, blocks, written=bool(new)))
        q = self._there(query)
        k, v = (self._there(x) for x in new) if new else self._nothing(len(query))
        if new and self.cached and not self.backend.forward_includes_kv_cache_update:
            self._made.impl.do_kv_cache_update(self._made, k, v, self.cache, metadata.slot_mapping)
        output = torch.full_like(q, float("nan"))
        found = self._made.impl.forward(self._made, q, k, v, self.cache, metadata, output=output)
        return (output if found is None else found).reshape(query.shape).cpu()

    def _chosen(self) -> Any:
        sinks = bool(self.rules.sinks)
        try:
            return get_attn_backend(self.heads.size, self.dtype, "auto", attn_type=self._kind, has_sink=sinks)
        except (ValueError, BadInputError) as refusal:  # vLLM's, or accelplug's
            raise Skip(f"no attention of the device takes it: {refusal}") from refusal

    def _refuse(self) -> None:
        said, backend = self.backend.get_name(), self.backend
        if not hasattr(kv_cache_interface, "KVCacheLayout"):
            raise Skip("the installed vLLM has no KVCacheLayout: it hands out its caches in another form")
        if not backend.supports_head_size(self.heads.size):
            raise Skip(f"the attention {said} has no heads of {self.heads.size}")
        if not backend.supports_dtype(self.dtype):
            raise Skip(f"the attention {said} takes no {self.dtype}")
        if not backend.supports_attn_type(self._kind):
            raise Skip(f"the attention {said} has none of the kind {self._kind.value}")
        if self.rules.sinks and not backend.supports_sink():
            raise Skip(f"the attention {said} has no sinks")

    def _layer(self) -> Any:
        rules, before = self.rules, torch.get_default_dtype()
        extra = {"sinks": torch.tensor(rules.sinks, dtype=self.dtype, device=self.device)} if rules.sinks else {}
        torch.set_default_dtype(self.dtype)  # as while a model is loaded
        try:
            with self.device:
                return Attention(
                    self.heads.queries,
                    self.heads.size,
                    rules.scale,
                    self.heads.keys,
                    alibi_slopes=[*rules.slopes] or None,
                    logits_soft_cap=rules.soft_cap or None,
                    per_layer_sliding_window=rules.window,
                    prefix=f"layers.{next(_numbers)}.attention",
                    attn_type=self._kind,
                    **extra,
                )
        finally:
            torch.set_default_dtype(before)

    def _spec(self) -> Any:
        size: dict[str, Any] = {"block_size": self.block, "num_kv_heads": self.heads.keys}
        given = size | {"head_size": self.heads.size, "dtype": self.dtype}
        if not self.cached:
            return kv_cache_interface.EncoderOnlyAttentionSpec(**given)
        if self.rules.window is not None:
            return kv_cache_interface.SlidingWindowSpec(**given, sliding_window=self.rules.window)
        return kv_cache_interface.FullAttentionSpec(**given)

    def _empty_cache(self) -> torch.Tensor:
        """[blocks, KV heads, tokens, a key and a value], in memory as the attention wants it."""
        (layout, *_) = self.backend.supported_kv_cache_layouts() or (kv_cache_interface.KVCacheLayout.LBNHC,)
        shape = (BLOCKS, self.heads.keys, self.block, 2 * self.heads.size)
        order = layout.layer_view_order
        memory = torch.zeros([shape[axis] for axis in order], dtype=self.dtype).to(self.device)
        return memory.permute([order.index(axis) for axis in range(len(shape))])

    def _metadata(
        self, requests: Sequence[Request], blocks: Sequence[Sequence[int]], *, written: bool
    ) -> CommonAttentionMetadata:
        starts = torch.tensor([0, *itertools.accumulate(each.queries for each in requests)], dtype=torch.int32)
        lengths = torch.tensor([each.keys for each in requests], dtype=torch.int32)
        positions = [position for each in requests for position in range(each.keys - each.queries, each.keys)]
        row_of = [row for row, each in enumerate(requests) for _ in range(each.queries)]
        slots = [
            blocks[row][position // self.block] * self.block + position % self.block if written and self.cached else -1
            for row, position in zip(row_of, positions, strict=True)
        ]
        widest = max(1, *(len(own) for own in blocks))
        table = torch.tensor([[*own, *[0] * (widest - len(own))] for own in blocks], dtype=torch.int32)
        return CommonAttentionMetadata(
            query_start_loc=starts.to(self.device),
            query_start_loc_cpu=starts,
            seq_lens=lengths.to(self.device),
            num_reqs=len(requests),
            num_actual_tokens=len(positions),
            max_query_len=max(each.queries for each in requests),
            max_seq_len=max(each.keys for each in requests),
            block_table_tensor=table.to(self.device),
            slot_mapping=torch.tensor(slots, dtype=torch.int64, device=self.device),
            causal=self.rules.causal,
            positions=torch.tensor(positions, dtype=torch.int64, device=self.device),
            seq_lens_cpu_upper_bound=lengths,
        )

    def _there(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(self.dtype).to(self.device)

    def _nothing(self, tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
        empty = torch.zeros(tokens, self.heads.keys, self.heads.size)
        return self._there(empty), self._there(empty)


def blocks_for(requests: Sequence[Request], size: int) -> list[list[int]]:
    """Numbers of blocks for each request, of ``size`` tokens, in no order and none of them twice; 0 is left out."""
    order = (1 + torch.randperm(BLOCKS - 1, generator=torch.Generator().manual_seed(1))).tolist()
    taken = iter(order)
    return [list(itertools.islice(taken, -(-each.keys // size))) for each in requests]
