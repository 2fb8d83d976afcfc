"""One step's attention: prepared once for all layers that share a KV cache, then computed layer by layer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch

from accelplug_vllm.native.attention import cache, layout, masks
from accelplug_vllm.native.attention.compute import Compute, Rules, attend, pytorch
from accelplug_vllm.native.attention.pieces import AS_IT_IS, COST_OF_A_PIECE, Padding, Piece, divide

Divided: TypeAlias = list[tuple[Piece, layout.Queries]]


@dataclass(frozen=True)
class Batch:
    """The requests of a step.

    ``widths`` and ``longest`` [requests], known to the host, are how many queries each has and how many keys at most;
    ``starts`` [requests + 1] and ``lengths`` [requests], on the device, are where its queries begin and how many keys
    it has, the last query being at the last key. ``block_table`` [requests, blocks] is where its keys are, None where
    they are not in a cache: they then come with the queries, and are at the same positions. ``causal`` as in `masks`.
    """

    widths: np.ndarray
    longest: np.ndarray
    starts: torch.Tensor
    lengths: torch.Tensor
    block_table: torch.Tensor | None
    causal: bool | torch.Tensor = True


@dataclass(frozen=True)
class Needs:
    """What the layers want of a step.

    ``windows`` are their sliding windows, None among them where a layer has none; ``distances`` says whether one uses
    ALiBi. ``most_keys``, ``padding`` and ``cost_of_a_piece`` are as in `pieces.divide`.
    """

    windows: Collection[int | None]
    distances: bool
    dtype: torch.dtype
    block_size: int
    most_keys: int
    padding: Padding = AS_IT_IS
    cost_of_a_piece: int = COST_OF_A_PIECE


@dataclass(frozen=True)
class Attention:
    """What a layer asks of its attention, the same for every step.

    ``window`` is its sliding window, one of `Needs.windows`. ``rules`` and ``compute`` are what `compute.attend` is
    given. ``value_part`` is where a token's value is in what the cache has of it: behind its key, if not said.
    """

    rules: Rules
    window: int | None = None
    compute: Compute = pytorch
    value_part: slice | None = None


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
    """One piece on the device. ``keys`` is by sliding window. ``space`` is the step's, for what is laid out."""

    piece: Piece
    queries: layout.Queries
    keys: dict[int | None, Keys]
    space: cache.Space


def divided(widths: np.ndarray, longest: np.ndarray, needs: Needs, send: layout.Send) -> Divided:
    """A batch, of which the host knows ``widths`` and ``longest`` as in `Batch`."""
    pieces = divide(widths.tolist(), longest.tolist(), needs.most_keys, needs.padding, needs.cost_of_a_piece)
    return list(zip(pieces, layout.queries(pieces, widths, send), strict=True))


def prepare(batch: Batch, needs: Needs, division: Divided | None = None) -> list[PieceOfBatch]:
    """What all layers need of the batch besides its queries, keys and values.

    ``division`` is what `divided` gave for it, where that was asked before.
    """
    if division is None:
        device = batch.lengths.device
        division = divided(
            batch.widths, batch.longest, needs, lambda flat: torch.from_numpy(flat).to(device, non_blocking=True)
        )
    space = cache.Space()

    def keys(piece: Piece, own: layout.Queries) -> dict[int | None, Keys]:
        return {window: _keys(piece, own.requests, batch, needs, window) for window in needs.windows}

    return [PieceOfBatch(piece, own, keys(piece, own), space) for piece, own in division]


def run(
    pieces: list[PieceOfBatch],
    attention: Attention,
    query: torch.Tensor,
    key: torch.Tensor | None,
    value: torch.Tensor | None,
    kv_cache: torch.Tensor,
    output: torch.Tensor,
) -> None:
    """Computes one layer into ``output`` [tokens, heads, size of a value].

    ``query`` is [tokens, heads, size]. ``key`` and ``value`` [tokens, KV heads, size] are used where there is no cache.
    """
    for part in pieces:
        keys, piece, queries = part.keys[attention.window], part.piece, part.queries
        q = _side_by_side(query, piece, queries)
        if keys.slots is None:
            assert key is not None
            assert value is not None
            k, v = _side_by_side(key, piece, queries), _side_by_side(value, piece, queries)
        else:
            content = cache.lay_out(kv_cache, keys.slots, part.space).to(q.dtype)
            size = q.shape[-1]
            k, v = content[..., :size], content[..., attention.value_part or slice(size, None)]
        bias = keys.bias.to(q.dtype)
        found = attend(q, k, v, bias, keys.distances, attention.rules, attention.compute).transpose(1, 2)
        tokens = found.reshape(-1, *found.shape[2:])
        if isinstance(queries.tokens, slice):
            output[queries.tokens] = tokens
        else:
            output.index_copy_(0, queries.tokens, tokens)


def _keys(piece: Piece, requests: layout.Index, batch: Batch, needs: Needs, window: int | None) -> Keys:
    widths = _rows(batch.starts[1:] - batch.starts[:-1], requests)
    lengths = _rows(batch.lengths, requests)
    causal = _rows(batch.causal, requests) if isinstance(batch.causal, torch.Tensor) else batch.causal
    if batch.block_table is None:
        where = layout.positions(piece, widths, lengths, window=None, keys=piece.queries)
        slots = None
    else:
        where = layout.positions(piece, widths, lengths, window=window, keys=layout.keys_within(piece, window))
        slots = layout.slots(where, _rows(batch.block_table, requests), needs.block_size)
    seen = masks.visible(where, causal=causal, window=window, both_ways=batch.block_table is None)
    return Keys(slots, masks.bias(seen, needs.dtype), masks.distances(where) if needs.distances else None)


def _rows(of_batch: torch.Tensor, index: layout.Index) -> torch.Tensor:
    return of_batch[index] if isinstance(index, slice) else of_batch.index_select(0, index)


def _side_by_side(tokens: torch.Tensor, piece: Piece, queries: layout.Queries) -> torch.Tensor:
    """A piece's part of ``tokens`` [tokens, heads, size] as [rows, heads, queries, size]."""
    own = _rows(tokens, queries.tokens)
    return own.view(piece.rows, piece.queries, *own.shape[1:]).transpose(1, 2)
