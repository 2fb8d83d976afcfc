"""The ladder that wastes least for the lengths that really come."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, pairwise

from accelplug.alignment import up_to
from accelplug.buckets.costs import AffineCost, Cost, costs
from accelplug.buckets.ladder import Ladder
from accelplug.errors import BadInputError


def optimal_ladder(
    lengths: Mapping[int, float], count: int, *, cost: Cost | None = None, multiple: int = 1, largest: int | None = None
) -> Ladder:
    """The ladder of at most ``count`` buckets that costs least where each length is padded to one bucket.

    ``lengths`` is how often each length comes. All sizes are multiples of ``multiple``; ``largest``, if given, is held
    too. Exact: dynamic programming over buckets and lengths, O(count × lengths × log lengths). It does not look at
    slicing, which can only make the ladder it returns cheaper. Raises BadInputError for no lengths, and where a larger
    bucket costs less than a smaller one.
    """
    sizes, weights = _candidates(lengths, multiple, largest)
    if count < 1:
        raise BadInputError(f"a ladder of {count} buckets; it takes at least 1")
    prices = [*costs(sizes, cost or AffineCost()).values()]
    if any(low > high for low, high in pairwise(prices)):
        raise BadInputError("a larger bucket must not cost less than a smaller one; smooth the measured costs first")
    before = [0.0, *accumulate(weights)]  # before[j]: how many lengths are in candidates 0 … j-1

    best = [before[j] * prices[j - 1] if j else 0.0 for j in range(len(before))]
    parents: list[list[int]] = []
    for _ in range(min(count, len(sizes)) - 1):
        best, parent = _one_more_bucket(best, before, prices)
        parents.append(parent)

    chosen, j = [sizes[-1]], len(sizes)
    for parent in reversed(parents):
        j = parent[j]
        if j == 0:
            break
        chosen.append(sizes[j - 1])
    return Ladder(tuple(reversed(chosen)))


def padding(ladder: Ladder, lengths: Mapping[int, float]) -> float:
    """How many elements of padding the lengths take, each in one bucket.

    Raises ShapeRefusedError for a length that fits into none.
    """
    return sum(often * (ladder.choose(length) - length) for length, often in lengths.items())


def _candidates(lengths: Mapping[int, float], multiple: int, largest: int | None) -> tuple[list[int], list[float]]:
    """The sizes worth a bucket, ascending, and how many lengths round up to each: no other size can be better."""
    weights: dict[int, float] = {}
    for length, often in lengths.items():
        if length < 1 or often < 0:
            raise BadInputError(f"length {length} comes {often} times; lengths are from 1, and come 0 times or more")
        size = up_to(length, multiple)
        weights[size] = weights.get(size, 0.0) + often
    if largest is not None:
        size = up_to(largest, multiple)
        if weights and max(weights) > size:
            raise BadInputError(f"length {max(lengths)} is above the largest bucket, {size}")
        weights.setdefault(size, 0.0)
    if not weights:
        raise BadInputError("no lengths, so no best ladder for them")
    sizes = sorted(weights)
    return sizes, [weights[size] for size in sizes]


def _one_more_bucket(best: list[float], before: list[float], prices: list[float]) -> tuple[list[float], list[int]]:
    """From the least costs with some buckets those with one more, and where each one's last bucket begins.

    The place where the last bucket begins never moves down as the end moves up, since larger buckets don't cost less.
    So it is looked for in halves: what is found in the middle bounds the search on both sides.
    """
    found, parent = [*best], [0] * len(best)
    todo = [(1, len(best) - 1, 0, len(best) - 1)]
    while todo:
        low, high, first, last = todo.pop()
        if low > high:
            continue
        middle = (low + high) // 2
        starts = range(first, min(last, middle - 1) + 1)
        cost, start = min((best[i] + (before[middle] - before[i]) * prices[middle - 1], i) for i in starts)
        found[middle], parent[middle] = cost, start
        todo += [(low, middle - 1, first, start), (middle + 1, high, start, last)]
    return found, parent
