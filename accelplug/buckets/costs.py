"""What running one bucket costs: a function from its size to a number, in any unit that is the same for all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from statistics import linear_regression

from pydantic import Field

from accelplug.errors import BadInputError
from accelplug.specs.record import Record

Cost = Callable[[int], float]
"""A bucket's size to what it costs to run it once, a positive, finite number."""


class AffineCost(Record):
    """``launch + per_token × bucket``.

    The default counts in tokens, and takes a launch to cost as much as 64 of them. That is an assumption, not a
    measurement: it depends on the model and the device. `fit` makes a cost from what was measured.
    """

    launch: float = Field(64.0, ge=0)
    per_token: float = Field(1.0, gt=0)

    def __call__(self, bucket: int) -> float:
        return self.launch + self.per_token * bucket

    @classmethod
    def fit(cls, seconds: Mapping[int, float]) -> AffineCost:
        """The line nearest to measured seconds by bucket (least squares); a launch below 0 becomes 0.

        Raises BadInputError for fewer than two buckets, or where a larger bucket doesn't cost more.
        """
        if len(seconds) < 2:
            raise BadInputError(f"{len(seconds)} measured buckets don't make a line; measure at least two")
        slope, launch = linear_regression([*seconds], [*seconds.values()])
        if slope <= 0:
            raise BadInputError(f"by these seconds a larger bucket costs no more: {dict(seconds)}; use MeasuredCost")
        return cls(launch=max(0.0, launch), per_token=slope)


class MeasuredCost(Record):
    """The seconds that each bucket took. Raises BadInputError when it is asked for one that wasn't measured."""

    seconds: dict[int, float]

    def __call__(self, bucket: int) -> float:
        if bucket not in self.seconds:
            raise BadInputError(f"no cost was measured for bucket {bucket}; measured: {sorted(self.seconds)}")
        return self.seconds[bucket]


def costs(sizes: Iterable[int], cost: Cost) -> dict[int, float]:
    """The cost of each size. Raises BadInputError for one that isn't a positive, finite number."""
    found = {size: cost(size) for size in sizes}
    for size, value in found.items():
        if not 0 < value < math.inf:
            raise BadInputError(f"bucket {size} costs {value!r}; a cost is a positive, finite number")
    return found
