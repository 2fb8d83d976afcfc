"""Buckets over several dimensions at once, such as tokens × sequences: which shapes there are, and which is chosen."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Callable, Mapping

from accelplug.buckets.ladder import Ladder
from accelplug.errors import BadInputError, ShapeRefusedError

Shape = tuple[int, ...]


class Grid:
    """Shapes over named axes, any set of them. The cheapest one that holds a request is chosen."""

    def __init__(
        self, axes: tuple[str, ...], shapes: frozenset[Shape], cost: Callable[..., float] | None = None
    ) -> None:
        """``cost`` gets a shape's sizes, one argument an axis; without it, a shape costs its volume.

        Raises BadInputError for no shapes, or one that doesn't have a size from 1 for each axis.
        """
        if not shapes:
            raise BadInputError(f"a grid over {', '.join(axes)} has no shapes")
        for shape in shapes:
            if len(shape) != len(axes) or min(shape) < 1:
                raise BadInputError(f"shape {shape} has no size from 1 for each of {', '.join(axes)}")
        price = cost or (lambda *sizes: float(math.prod(sizes)))
        self.axes = axes
        self.shapes = tuple(sorted(shapes, key=lambda shape: (price(*shape), shape)))  # cheapest first
        self._sizes = tuple(tuple(sorted(set(sizes))) for sizes in zip(*shapes, strict=True))  # of each axis
        self._chosen: dict[Shape, Shape] = {}

    @classmethod
    def product(
        cls,
        ladders: Mapping[str, Ladder],
        occurs: Callable[..., bool] | None = None,
        cost: Callable[..., float] | None = None,
    ) -> Grid:
        """All combinations of the ladders' buckets that can occur.

        ``occurs`` gets, by axis, the ``range`` of lengths that land in a bucket; without it, all can. Never more
        sequences than tokens: ``lambda tokens, seqs: seqs.start < tokens.stop``. ``cost`` is as the class has it.
        Raises BadInputError where none can occur.
        """
        shapes = itertools.product(*(ladder.sizes for ladder in ladders.values()))
        pairs = [*ladders.items()]

        def possible(shape: Shape) -> bool:
            lengths = {axis: ladder.lengths(size) for (axis, ladder), size in zip(pairs, shape, strict=True)}
            return occurs is None or occurs(**lengths)

        return cls(tuple(ladders), frozenset(filter(possible, shapes)), cost)

    def choose(self, **lengths: int) -> Shape:
        """The cheapest shape that holds the lengths, which are given for each axis.

        Raises ShapeRefusedError, which names the limits, where none does, BadInputError for other axes or a length
        below 1.
        """
        if lengths.keys() != {*self.axes}:
            raise BadInputError(f"lengths for {', '.join(lengths) or 'no axis'}; give them for {', '.join(self.axes)}")
        wanted = tuple(lengths[axis] for axis in self.axes)
        if min(wanted) < 1:
            raise BadInputError(f"lengths {lengths}: there is nothing to put into a bucket")
        if any(length > sizes[-1] for length, sizes in zip(wanted, self._sizes, strict=True)):
            raise self._refused(wanted)
        least = tuple(sizes[bisect_left(sizes, length)] for length, sizes in zip(wanted, self._sizes, strict=True))
        if least not in self._chosen:
            self._chosen[least] = self._cheapest(least, wanted)
        return self._chosen[least]

    def _cheapest(self, least: Shape, wanted: Shape) -> Shape:
        for shape in self.shapes:
            if all(size >= length for size, length in zip(shape, least, strict=True)):
                return shape
        raise self._refused(wanted)

    def _refused(self, wanted: Shape) -> ShapeRefusedError:
        asked = ", ".join(f"{axis} {length}" for axis, length in zip(self.axes, wanted, strict=True))
        limits = ", ".join(f"{axis} {sizes[-1]}" for axis, sizes in zip(self.axes, self._sizes, strict=True))
        return ShapeRefusedError(f"no bucket holds {asked}; the largest sizes are: {limits}")
