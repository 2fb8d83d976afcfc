"""Divides a batch into pieces: runs of neighbouring requests that are computed together, padded to one shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

# What one more piece costs, in scores (a query against a key) that could be computed in the same time. A rough figure:
# it only has to keep a few short requests together and a long one apart.
COST_OF_A_PIECE = 1 << 16


@dataclass(frozen=True)
class Piece:
    """Requests ``first`` to ``first + requests``, whose queries are the batch's ``tokens``.

    Each is padded to ``queries`` queries against ``keys`` keys.
    """

    first: int
    requests: int
    tokens: slice
    queries: int
    keys: int

    @property
    def rows(self) -> slice:
        return slice(self.first, self.first + self.requests)

    @property
    def is_dense(self) -> bool:
        """Whether there is nothing to pad: every request has exactly ``queries`` queries."""
        return self.requests * self.queries == int(self.tokens.stop) - int(self.tokens.start)


def divide(
    queries: Sequence[int],
    keys: Sequence[int],
    most_keys: int,
    padded: Callable[[int], int] = lambda length: length,
) -> list[Piece]:
    """The pieces of a batch whose requests have ``queries[i]`` queries against ``keys[i]`` keys, in the batch's order.

    A piece lays out at most ``most_keys`` keys, but for a single request that has more. Requests with one query are
    kept from those with several, and long from short ones where padding would cost more than another piece.
    ``padded`` gives the length that a device wants for a number of queries or keys.
    """
    pieces: list[Piece] = []
    first = token = work = widest = longest = 0
    for row, (width, length) in enumerate(zip(queries, keys, strict=True)):
        requests = row - first
        wider, longer = max(widest, width), max(longest, length)
        own = max(width, 1) * length
        if requests and (
            (widest <= 1) != (width <= 1)
            or (requests + 1) * padded(longer) > most_keys
            or (requests + 1) * wider * longer > 2 * (work + own) + COST_OF_A_PIECE
        ):
            pieces.append(_piece(first, requests, token, sum(queries[first:row]), padded(widest), padded(longest)))
            first, token, work = row, pieces[-1].tokens.stop, 0
            wider, longer = width, length
        widest, longest, work = wider, longer, work + own
    pieces.append(_piece(first, len(queries) - first, token, sum(queries[first:]), padded(widest), padded(longest)))
    return pieces


def _piece(first: int, requests: int, token: int, tokens: int, queries: int, keys: int) -> Piece:
    return Piece(first, requests, slice(token, token + tokens), max(queries, 1), max(keys, 1))
