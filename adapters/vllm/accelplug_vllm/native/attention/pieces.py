"""Divides a batch into pieces: runs of neighbouring requests that are computed together, padded to one shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

# What one more piece costs, in scores (a query against a key) that could be computed in the same time. A rough figure:
# it only has to keep a few short requests together and a long one apart.
COST_OF_A_PIECE = 1 << 16


@dataclass(frozen=True)
class Padding:
    """The sizes that a device wants, for those there are: of ``requests``, and of ``queries`` and ``keys`` of each."""

    requests: Callable[[int], int] = lambda count: count
    queries: Callable[[int], int] = lambda length: length
    keys: Callable[[int], int] = lambda length: length


AS_IT_IS = Padding()


@dataclass(frozen=True)
class Piece:
    """Requests ``first`` to ``first + requests``, whose queries are the batch's ``tokens``.

    Each is padded to ``queries`` queries against ``keys`` keys, and they to ``rows`` requests.
    """

    first: int
    requests: int
    tokens: slice
    rows: int
    queries: int
    keys: int

    @property
    def own(self) -> slice:
        """Its requests, in what has a row for each of the batch's."""
        return slice(self.first, self.first + self.requests)

    @property
    def is_dense(self) -> bool:
        """Whether there is nothing to pad: ``rows`` requests have exactly ``queries`` queries each."""
        return self.rows * self.queries == int(self.tokens.stop) - int(self.tokens.start)


def divide(queries: Sequence[int], keys: Sequence[int], most_keys: int, padding: Padding = AS_IT_IS) -> list[Piece]:
    """The pieces of a batch whose requests have ``queries[i]`` queries against ``keys[i]`` keys, in the batch's order.

    A piece lays out at most ``most_keys`` keys, but for a single request that has more. Requests with one query are
    kept from those with several, and long from short ones where padding would cost more than another piece.
    """

    def piece(first: int, end: int, token: int, widest: int, longest: int) -> Piece:
        tokens = slice(token, token + sum(queries[first:end]))
        width, length = padding.queries(max(widest, 1)), padding.keys(max(longest, 1))
        return Piece(first, end - first, tokens, padding.requests(end - first), width, length)

    pieces: list[Piece] = []
    first = token = work = widest = longest = 0
    for row, (width, length) in enumerate(zip(queries, keys, strict=True)):
        requests = row - first
        wider, longer = max(widest, width), max(longest, length)
        own = max(width, 1) * length
        if requests and (
            (widest <= 1) != (width <= 1)
            or padding.requests(requests + 1) * padding.keys(max(longer, 1)) > most_keys
            or (requests + 1) * wider * longer > 2 * (work + own) + COST_OF_A_PIECE
        ):
            pieces.append(piece(first, row, token, widest, longest))
            first, token, work = row, pieces[-1].tokens.stop, 0
            wider, longer = width, length
        widest, longest, work = wider, longer, work + own
    pieces.append(piece(first, len(queries), token, widest, longest))
    return pieces
