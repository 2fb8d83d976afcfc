"""Cutting the padding off what a model returns, however that is nested."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from accelplug.buckets.spec import Dimensions
from accelplug.buckets.tensors import unpad
from accelplug.errors import BadInputError

PLAIN = (type(None), bool, int, float, complex, str, bytes)


def cut_back(
    value: Any,
    outputs: Mapping[str, Dimensions],
    lengths: Mapping[str, int],
    sizes: Mapping[str, int],
    path: tuple[str, ...] = (),
) -> Any:
    """``value`` with the padding of each tensor cut off: along its axes from ``sizes`` to ``lengths``.

    Raises BadInputError for a tensor that ``outputs`` doesn't name, or whose named dimension hasn't the padded size.
    """
    import torch

    dimensions = _named(path, outputs)
    if isinstance(value, torch.Tensor):
        return _cut(value, dimensions, lengths, sizes, ".".join(path))
    if isinstance(value, PLAIN) or dimensions == {}:
        return value

    def inner(key: object, part: Any) -> Any:
        return cut_back(part, outputs, lengths, sizes, (*path, str(key)))

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        return dataclasses.replace(value, **{name: inner(name, part) for name, part in fields.items()})
    if isinstance(value, dict):
        return type(value)((key, inner(key, part)) for key, part in value.items())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(inner(name, part) for name, part in zip(value._fields, value, strict=True)))
    if isinstance(value, (tuple, list)):
        return type(value)(inner(index, part) for index, part in enumerate(value))
    raise BadInputError(
        f"output {'.'.join(path)!r} is of type {type(value).__name__}, in which accelplug finds no tensors; to have it "
        f"returned as it is, name it in outputs: {{{'.'.join(path)!r}: {{}}}}"
    )


def _named(path: tuple[str, ...], outputs: Mapping[str, Dimensions]) -> Dimensions | None:
    """What is said of the output at ``path``, by its own name or the nearest one above it; None where nothing is."""
    for end in range(len(path), -1, -1):
        if (name := ".".join(path[:end])) in outputs:
            return outputs[name]
    return None


def _cut(
    tensor: Any, dimensions: Dimensions | None, lengths: Mapping[str, int], sizes: Mapping[str, int], name: str
) -> Any:
    if dimensions is None:
        raise BadInputError(
            f"output {name!r} of shape {tuple(tensor.shape)} isn't named in outputs: name the dimensions that are cut "
            f"back, {{{name!r}: {{1: {next(iter(sizes))!r}}}}}, or {{{name!r}: {{}}}} to have it returned as it is"
        )
    for dim, axis in dimensions.items():
        if not -tensor.dim() <= dim < tensor.dim() or tensor.shape[dim] != sizes[axis]:
            raise BadInputError(
                f"output {name!r} has the shape {tuple(tensor.shape)}: its dimension {dim} isn't {axis!r}, which was "
                f"padded to {sizes[axis]}; correct outputs"
            )
        tensor = tensor if lengths[axis] == sizes[axis] else unpad(tensor, dim, lengths[axis])
    return tensor
