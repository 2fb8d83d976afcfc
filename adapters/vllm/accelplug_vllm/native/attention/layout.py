"""Where the queries and keys of a piece lie, and at which positions of their requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch

from accelplug_vllm.native.attention.pieces import Piece

Index: TypeAlias = slice | torch.Tensor
Send: TypeAlias = Callable[[np.ndarray], torch.Tensor]
"""Says where on the device an array of int64 is going to be, by the time that the device computes with it."""


@dataclass(frozen=True)
class Queries:
    """How the batch becomes ``[rows, queries]`` and back.

    ``requests`` [rows] are the batch's requests and ``tokens`` [rows * queries] the batch's tokens: a slice where that
    part of the batch is so already. Padding repeats: a request its last token, the piece its last request. So it
    computes the same as what it repeats, and may be put back in the same place.
    """

    requests: Index
    tokens: Index


def queries(pieces: Sequence[Piece], lengths: np.ndarray, send: Send) -> list[Queries]:
    """Of each piece. ``lengths`` [requests] are the numbers of queries of the batch's requests, known to the host.

    All that the device needs of it is sent together, and nothing where slices are enough.
    """
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    found = [_queries(piece, lengths, starts) for piece in pieces]
    flat = [index for each in found for index in each if not isinstance(index, slice)]
    there: Iterator[torch.Tensor] = iter(())
    if flat:
        there = iter(send(np.concatenate(flat)).split([len(index) for index in flat]))
    return [Queries(*(index if isinstance(index, slice) else next(there) for index in each)) for each in found]


def _queries(
    piece: Piece, lengths: np.ndarray, starts: np.ndarray
) -> tuple[slice, slice] | tuple[np.ndarray, np.ndarray]:
    first, last = piece.requests[0], piece.requests[-1]
    neighbours = last - first + 1 == len(piece.requests)
    if neighbours and lengths[first : last + 1].sum() == piece.rows * piece.queries:  # nothing to pad
        return slice(first, last + 1), slice(int(starts[first]), int(starts[last] + lengths[last]))
    own = np.array(piece.requests)[np.minimum(np.arange(piece.rows), len(piece.requests) - 1)]
    tokens = starts[own][:, None] + np.minimum(np.arange(piece.queries), lengths[own][:, None] - 1)
    return own, tokens.reshape(-1)


@dataclass(frozen=True)
class Positions:
    """Positions within each request: ``queries`` [requests, queries], ``keys`` [requests, keys].

    ``lengths`` [requests, 1] says how many keys a request has; keys at positions from there on are padding.
    """

    queries: torch.Tensor
    keys: torch.Tensor
    lengths: torch.Tensor


def positions(
    piece: Piece, query_lengths: torch.Tensor, lengths: torch.Tensor, *, window: int | None, keys: int
) -> Positions:
    """``query_lengths`` and ``lengths`` [requests] are how many queries and keys the requests have; the last query is
    at the last key, and so is what pads queries. With a ``window``, keys that no query can see are left out, so fewer
    than ``piece.keys`` do."""
    device = lengths.device
    lengths, query_lengths = lengths[:, None], query_lengths[:, None]
    query = torch.arange(piece.queries, dtype=torch.int32, device=device)[None]
    key = torch.arange(keys, dtype=torch.int32, device=device)[None]
    before = lengths - query_lengths
    first = before.new_zeros(before.shape) if window is None else (before - (window - 1)).clamp(min=0)
    return Positions(before + torch.minimum(query, query_lengths - 1), first + key, lengths)


def keys_within(piece: Piece, window: int | None) -> int:
    """How many keys of each request have to be laid out."""
    return piece.keys if window is None else min(piece.keys, window + piece.queries - 1)


def slots(where: Positions, block_table: torch.Tensor, block_size: int) -> torch.Tensor:
    """The cache slot of each key, [requests, keys]. Padding reads the request's last key: whatever another request has
    left in a block, be it NaN, is never touched."""
    inside = torch.minimum(where.keys, where.lengths - 1).clamp(min=0)
    blocks = torch.gather(block_table, 1, (inside // block_size).long())
    return blocks * block_size + inside % block_size
