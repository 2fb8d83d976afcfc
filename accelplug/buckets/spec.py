"""What ``accelplug.compile(model, buckets=...)`` is told: which dimensions vary, together, and over which sizes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from pydantic import Field, field_validator, model_validator

from accelplug.buckets.ladder import Ladder
from accelplug.buckets.policy import BucketPolicy
from accelplug.errors import BadInputError, did_you_mean
from accelplug.specs.record import Record

Dimensions = dict[int, str]
"""Dimensions of a tensor, each with the name of its axis; the last one is also -1."""


class Buckets(Record):
    """The dimensions of a model's inputs and outputs that vary. All others are fixed by the first call.

    >>> Buckets(
    ...     ladders={"length": "pow2:16..512"},
    ...     arguments={"input_ids": {1: "length"}, "attention_mask": {1: "length"}},
    ...     fill={"input_ids": 0, "attention_mask": 0},
    ...     outputs={"logits": {1: "length"}},
    ... )  # doctest: +SKIP

    ladders
        By axis the sizes it is padded to: a ladder as people write it, or the sizes. Dimensions of one axis have one
        length and are padded together.
    arguments
        By argument the dimensions that vary. One that is left out or None in a call is passed on as it is.
    fill
        By argument what it is padded with. The model must give the same for the real elements whatever stands behind
        them; padding a mask with 0 is what makes it so, most of the time.
    outputs
        By output the dimensions that are cut back to the real length; ``{}`` for one that is returned as it is. The
        name is a key, a field, or an index (``"0"``), joined by dots where they are nested (``"past.0.1"``; ``"past"``
        speaks for all below it); ``""`` is the model's only output. Every output tensor must be named.

    Raises BadInputError for an axis without a ladder or a ladder without an argument, and for a missing fill value.
    """

    ladders: dict[str, BucketPolicy]
    arguments: dict[str, Dimensions] = Field(min_length=1)
    fill: dict[str, int | float | bool]
    outputs: dict[str, Dimensions]

    @field_validator("ladders", mode="before")
    @classmethod
    def _as_policies(cls, ladders: Mapping[str, Any]) -> dict[str, BucketPolicy]:
        return {axis: _policy(ladder) for axis, ladder in ladders.items()}

    @model_validator(mode="after")
    def _consistent(self) -> Buckets:
        used = {axis for dimensions in self.arguments.values() for axis in dimensions.values()}
        _check_axes("arguments", self.arguments, "ladder", self.ladders)
        _check_axes("outputs", self.outputs, "argument", used)
        if idle := sorted(self.ladders.keys() - used):
            raise BadInputError(f"no argument has the axis {idle[0]!r}; name it in arguments, or leave out its ladder")
        if self.fill.keys() != self.arguments.keys():
            odd = sorted(self.fill.keys() ^ self.arguments.keys())
            raise BadInputError(
                f"fill and arguments must name the same arguments; only one of them has: {', '.join(odd)}"
            )
        self.made()
        return self

    def made(self) -> dict[str, Ladder]:
        """The ladder of each axis. Raises BadInputError for one without an end."""
        return {axis: policy.ladder() for axis, policy in self.ladders.items()}

    def check_arguments(self, model: Callable[..., Any]) -> inspect.Signature:
        """The signature of ``model``. Raises BadInputError for an argument that it doesn't have."""
        signature = inspect.signature(getattr(model, "forward", model))
        kinds = {parameter.kind for parameter in signature.parameters.values()}
        for argument in self.arguments.keys() - signature.parameters.keys():
            if inspect.Parameter.VAR_KEYWORD not in kinds:
                known = signature.parameters
                raise BadInputError(
                    f"the model has no argument {argument!r}{did_you_mean(argument, known)}; it has: {', '.join(known)}"
                )
        return signature


def _check_axes(field: str, tensors: Mapping[str, Dimensions], lacks: str, known: Collection[str]) -> None:
    for name, dimensions in tensors.items():
        for axis in dimensions.values():
            if axis not in known:
                raise BadInputError(
                    f"{field}[{name!r}] has the axis {axis!r}, which has no {lacks}{did_you_mean(axis, known)}; "
                    f"there are: {', '.join(sorted(known)) or 'none'}"
                )


def _policy(ladder: object) -> BucketPolicy:
    if isinstance(ladder, BucketPolicy):
        return ladder
    if isinstance(ladder, str):
        return BucketPolicy.parse(ladder)
    sizes = ladder.sizes if isinstance(ladder, Ladder) else ladder
    if not isinstance(sizes, Iterable):
        raise BadInputError(f"{ladder!r} is no ladder; give text such as 'pow2:16..512', or sizes")
    return BucketPolicy(form="sizes", sizes=Ladder(tuple(sizes)).sizes)
