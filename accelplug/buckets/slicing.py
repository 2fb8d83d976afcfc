"""A length served as several buckets one after the other, where that is cheaper than padding it to one.

1,300 tokens on 512, 1024, 2048: padded to 2048 they waste 748; as 1024 and then 512 they waste 236.
"""

from __future__ import annotations

import math
import threading
from typing import NamedTuple

from accelplug.buckets.costs import AffineCost, Cost, costs
from accelplug.buckets.ladder import Ladder
from accelplug.errors import BadInputError


class Slice(NamedTuple):
    """``length`` elements from ``start``, run in ``bucket``."""

    start: int
    length: int
    bucket: int


class _Best(NamedTuple):
    """What the cheapest slices of a length cost. Compared in this order: a tie goes to fewer slices, then less padding.

    ``bucket`` is one of them, in units; the rest are those of what it leaves.
    """

    cost: float
    slices: int
    size: int
    bucket: int


class Slicer:
    """The cheapest sequence of buckets for any length: exact, by dynamic programming over lengths.

    The table grows with the longest length asked for, once; a look-up walks one entry for each slice. Lengths are
    counted in the greatest common divisor of the sizes. Threads may share a Slicer.
    """

    def __init__(self, ladder: Ladder, cost: Cost | None = None) -> None:
        """``cost`` is that of running one bucket; `AffineCost` where none is given. Raises BadInputError as `costs`."""
        self.ladder = ladder
        self._unit = math.gcd(*ladder.sizes)
        by_size = costs(ladder.sizes, cost or AffineCost())
        self._steps = [(size // self._unit, price) for size, price in by_size.items()]
        self._table = [_Best(0.0, 0, 0, 0)]
        self._lock = threading.Lock()

    def slices(self, length: int) -> tuple[Slice, ...]:
        """The slices, largest bucket first, so that only the last one has padding.

        Raises BadInputError for a length below 1.
        """
        if length < 1:
            raise BadInputError(f"a length of {length} can't be sliced")
        left = -(-length // self._unit)
        table, chosen = self._grown(left), []
        while left > 0:
            bucket = table[left].bucket
            chosen.append(bucket * self._unit)
            left -= bucket
        chosen.sort(reverse=True)
        made, start = [], 0
        for bucket in chosen:  # all but the last are full: one bucket less would be cheaper if the padding filled it
            made.append(Slice(start, min(bucket, length - start), bucket))
            start += bucket
        return tuple(made)

    def cost(self, length: int) -> float:
        """What the slices of ``length`` cost together, in the unit of the cost function."""
        units = -(-length // self._unit)
        return self._grown(units)[units].cost

    def used(self, longest: int) -> tuple[int, ...]:
        """The buckets that lengths up to ``longest`` are ever sliced into, ascending: all that must be compiled."""
        units = -(-longest // self._unit)
        return tuple(sorted({best.bucket * self._unit for best in self._grown(units)[1 : units + 1]}))

    def _grown(self, units: int) -> list[_Best]:
        if units >= len(self._table):
            with self._lock:
                table = self._table
                for length in range(len(table), units + 1):
                    table.append(min(self._candidate(table, length, *step) for step in self._steps))
        return self._table

    @staticmethod
    def _candidate(table: list[_Best], length: int, bucket: int, price: float) -> _Best:
        rest = table[max(0, length - bucket)]
        return _Best(rest.cost + price, rest.slices + 1, rest.size + bucket, bucket)
