"""The sizes that a dimension of varying length is padded to."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise

from accelplug import alignment
from accelplug.errors import BadInputError, ShapeRefusedError


@dataclass(frozen=True)
class Ladder:
    """Bucket sizes, ascending, each once. Raises BadInputError for anything else."""

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(self.sizes))
        if not self.sizes:
            raise BadInputError("a ladder has no buckets; give at least one size")
        for size in self.sizes:
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                raise BadInputError(f"{size!r} is no bucket size; a size is a whole number from 1")
        if any(low >= high for low, high in pairwise(self.sizes)):
            raise BadInputError(f"buckets {self}: give them in ascending order, each once")

    @classmethod
    def powers_of_two(cls, first: int, last: int) -> Ladder:
        """``first``, twice that, and so on, then ``last``, which need not be one of them.

        Raises BadInputError where ``first`` is below 1, or ``last`` below ``first``.
        """
        _check_ends(first, last)
        sizes = [first]
        while sizes[-1] * 2 < last:
            sizes.append(sizes[-1] * 2)
        return cls((*sizes, *_unless_equal(last, first)))

    @classmethod
    def linear(cls, first: int, last: int, step: int) -> Ladder:
        """From ``first`` in steps of ``step``, then ``last``, which need not be on a step.

        Raises BadInputError as `powers_of_two`, and for a step below 1.
        """
        _check_ends(first, last)
        if step < 1:
            raise BadInputError(f"a ladder in steps of {step}; a step is a whole number from 1")
        return cls((*range(first, last, step), last))

    @classmethod
    def geometric(cls, first: int, last: int, count: int) -> Ladder:
        """About ``count`` sizes from ``first`` to ``last``, each the same factor above the one before.

        Fewer where neighbours round to the same size. Raises BadInputError as `powers_of_two`, and for a count below 2.
        """
        _check_ends(first, last)
        if count < 2:
            raise BadInputError(f"a geometric ladder of {count} buckets; it takes at least 2")
        factor = (last / first) ** (1 / (count - 1))
        return cls(tuple(sorted({*(round(first * factor**n) for n in range(count - 1)), last})))

    @property
    def largest(self) -> int:
        """The longest length that fits without slicing."""
        return self.sizes[-1]

    def choose(self, length: int, what: str = "length") -> int:
        """The smallest bucket that holds ``length``.

        Raises ShapeRefusedError, which names the limit, above the largest one, BadInputError for a length below 1;
        ``what`` names the length in them.
        """
        if length < 1:
            raise BadInputError(f"a {what} of {length}: there is nothing to put into a bucket")
        if length > self.largest:
            raise ShapeRefusedError(f"{what} {length} is above the largest bucket, {self.largest}; buckets: {self}")
        return self.sizes[bisect_left(self.sizes, length)]

    def lengths(self, bucket: int) -> range:
        """The lengths for which ``bucket`` is chosen. Raises ValueError for a size that is no bucket."""
        at = self.sizes.index(bucket)
        return range(self.sizes[at - 1] + 1 if at else 1, bucket + 1)

    def up_to(self, largest: int) -> Ladder:
        """The buckets below ``largest``, and ``largest`` itself; all of them where none is above it.

        Raises BadInputError for one below 1.
        """
        if largest >= self.largest:
            return self
        return Ladder((*(size for size in self.sizes if size < largest), largest))

    def aligned(self, multiple: int) -> Ladder:
        """Each size rounded up to a multiple of ``multiple``; sizes that become equal become one.

        Raises BadInputError for a multiple below 1.
        """
        if multiple < 1:
            raise BadInputError(f"buckets that are multiples of {multiple}; a multiple is a whole number from 1")
        return Ladder(tuple(sorted({alignment.up_to(size, multiple) for size in self.sizes})))

    def __str__(self) -> str:
        return ",".join(map(str, self.sizes))


def _check_ends(first: int, last: int) -> None:
    if not 1 <= first <= last:
        raise BadInputError(f"buckets from {first} to {last}; the first is at least 1 and at most the last")


def _unless_equal(last: int, first: int) -> tuple[int, ...]:
    return () if last == first else (last,)
