"""Divides a batch into pieces: requests that are computed together, padded to one shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

# What one more piece costs, in scores (a query against a key) that could be computed in the same time: its operators
# have to be launched, in every layer. On a simulated device they are calls of functions, and scores are slow. Both are
# rough figures, the first not measured on hardware.
COST_OF_A_PIECE = 1 << 16
COST_OF_A_PIECE_ON_THE_HOST = 1 << 13

# What it costs to lay out a key, likewise. With a single query that is most of the work.
COST_OF_A_KEY = 8


@dataclass(frozen=True)
class Padding:
    """The sizes that a device wants, for those there are: of ``requests``, and of ``queries`` and ``keys`` of each."""

    requests: Callable[[int], int] = lambda count: count
    queries: Callable[[int], int] = lambda length: length
    keys: Callable[[int], int] = lambda length: length


AS_IT_IS = Padding()


@dataclass(frozen=True)
class Piece:
    """Some of a batch's ``requests``, by number, in the batch's order.

    Each is padded to ``queries`` queries against ``keys`` keys, and they to ``rows`` requests.
    """

    requests: tuple[int, ...]
    rows: int
    queries: int
    keys: int


def divide(
    queries: Sequence[int],
    keys: Sequence[int],
    most_keys: int,
    padding: Padding = AS_IT_IS,
    cost_of_a_piece: int = COST_OF_A_PIECE,
) -> list[Piece]:
    """The pieces of a batch whose requests have ``queries[i]`` queries against ``keys[i]`` keys.

    A piece lays out at most ``most_keys`` keys, but for a single request that has more. Requests with one query are
    kept from those with several, and long from short ones where padding would cost more than another piece. Requests
    without queries are there to fill a batch, and are in no piece.
    """
    one = [row for row, count in enumerate(queries) if count == 1]
    several = [row for row, count in enumerate(queries) if count > 1]
    pieces = []
    for rows in (one, several):
        by_length = sorted(rows, key=lambda row: (keys[row], queries[row]))
        for own in _runs(by_length, queries, keys, most_keys, padding, cost_of_a_piece):
            widest, longest = max(queries[row] for row in own), max(keys[row] for row in own)
            shape = padding.requests(len(own)), padding.queries(widest), padding.keys(max(longest, 1))
            pieces.append(Piece(tuple(sorted(own)), *shape))
    return pieces


def _runs(
    rows: Iterable[int], queries: Sequence[int], keys: Sequence[int], most_keys: int, padding: Padding, piece: int
) -> list[list[int]]:
    """``rows``, which come with the shortest first, in runs."""
    runs: list[list[int]] = []
    work = widest = longest = 0
    for row in rows:
        length = padding.keys(max(keys[row], 1))
        own = (queries[row] + COST_OF_A_KEY) * length
        wider, longer = max(widest, queries[row]), max(longest, length)
        count = len(runs[-1]) + 1 if runs else 1
        if (
            count == 1
            or padding.requests(count) * longer > most_keys
            or count * (wider + COST_OF_A_KEY) * longer > work + own + piece
        ):
            runs.append([row])
            work, widest, longest = own, queries[row], length
        else:
            runs[-1].append(row)
            work, widest, longest = work + own, wider, longer
    return runs
