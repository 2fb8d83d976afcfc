"""Where the queries and keys of a piece lie, and at which positions of their requests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from accelplug_vllm.native.attention.pieces import Piece


@dataclass(frozen=True)
class Queries:
    """How the tokens of a piece become ``[requests, queries]`` and back. Both None where they are that already.

    ``taken`` [requests * queries] are the tokens, counted from the piece's first, with a request's last one in the
    place of its padding. ``put`` [tokens] is where each token went.
    """

    taken: torch.Tensor | None
    put: torch.Tensor | None


def queries(piece: Piece, lengths: np.ndarray, device: torch.device) -> Queries:
    """``lengths`` [requests] are the numbers of queries of the piece's requests, known to the host."""
    if piece.is_dense:
        return Queries(None, None)
    ends = np.cumsum(lengths, dtype=np.int32)
    starts = ends - lengths
    offsets = np.minimum(np.arange(piece.queries, dtype=np.int32), np.maximum(lengths - 1, 0)[:, None])
    taken = np.minimum(starts[:, None] + offsets, max(int(ends[-1]) - 1, 0)).astype(np.int32)
    row = np.repeat(np.arange(piece.requests, dtype=np.int32), lengths)
    put = row * piece.queries + np.arange(len(row), dtype=np.int32) - np.repeat(starts, lengths)
    return Queries(
        torch.from_numpy(taken.reshape(-1)).to(device, non_blocking=True),
        torch.from_numpy(put.astype(np.int32)).to(device, non_blocking=True),
    )


@dataclass(frozen=True)
class Positions:
    """Positions within each request: ``queries`` [requests, queries], ``keys`` [requests, keys].

    ``is_query`` [requests, queries] says which queries are no padding, and ``lengths`` [requests, 1] how many keys a
    request has; keys at positions from there on are padding.
    """

    queries: torch.Tensor
    keys: torch.Tensor
    is_query: torch.Tensor
    lengths: torch.Tensor


def positions(
    piece: Piece, query_lengths: torch.Tensor, lengths: torch.Tensor, *, window: int | None, keys: int
) -> Positions:
    """``query_lengths`` and ``lengths`` [requests] are how many queries and keys the requests have; the last query is
    at the last key. With a ``window``, keys that no query can see are left out, so fewer than ``piece.keys`` do."""
    device = lengths.device
    lengths, query_lengths = lengths[:, None], query_lengths[:, None]
    query = torch.arange(piece.queries, dtype=torch.int32, device=device)[None]
    key = torch.arange(keys, dtype=torch.int32, device=device)[None]
    before = lengths - query_lengths
    first = before.new_zeros(before.shape) if window is None else (before - (window - 1)).clamp(min=0)
    return Positions(before + query, first + key, query < query_lengths, lengths)


def keys_within(piece: Piece, window: int | None) -> int:
    """How many keys of each request have to be laid out."""
    return piece.keys if window is None else min(piece.keys, window + piece.queries - 1)


def slots(where: Positions, block_table: torch.Tensor, block_size: int) -> torch.Tensor:
    """The cache slot of each key, [requests, keys]. Padding reads the request's last key: whatever another request has
    left in a block, be it NaN, is never touched."""
    inside = torch.minimum(where.keys, where.lengths - 1).clamp(min=0)
    blocks = torch.gather(block_table, 1, (inside // block_size).long())
    return blocks * block_size + inside % block_size
