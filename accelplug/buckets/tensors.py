"""Padding and cutting tensors. The only part of this package that has torch in its hands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from accelplug.buckets.slicing import Slice
from accelplug.errors import BadInputError

if TYPE_CHECKING:
    import torch

Fill = int | float | bool


def pad(tensor: torch.Tensor, dim: int, size: int, fill: Fill) -> torch.Tensor:
    """``tensor`` with ``fill`` behind it along ``dim``, up to ``size``; itself where it has that size.

    Raises BadInputError where it is longer, or where its dtype can't hold ``fill``.
    """
    import torch

    length = tensor.shape[dim]
    if length == size:
        return tensor
    if length > size:
        raise BadInputError(f"a tensor of {length} along dimension {dim} can't be padded to {size}")
    _check_fill(tensor, fill)
    behind = [*tensor.shape]
    behind[dim] = size - length
    return torch.cat((tensor, tensor.new_full(behind, fill)), dim)


def unpad(tensor: torch.Tensor, dim: int, length: int) -> torch.Tensor:
    """The first ``length`` along ``dim``, as a view."""
    return tensor.narrow(dim, 0, length)


def cut(tensor: torch.Tensor, dim: int, slices: Sequence[Slice], fill: Fill) -> Iterator[torch.Tensor]:
    """The slices of ``tensor`` along ``dim``, each padded to its bucket."""
    for start, length, bucket in slices:
        yield pad(tensor.narrow(dim, start, length), dim, bucket, fill)


def join(results: Sequence[torch.Tensor], dim: int, slices: Sequence[Slice]) -> torch.Tensor:
    """What the slices gave, each without its padding, one after the other along ``dim``."""
    import torch

    return torch.cat([unpad(made, dim, piece.length) for made, piece in zip(results, slices, strict=True)], dim)


def _check_fill(tensor: torch.Tensor, fill: Fill) -> None:
    import torch

    if tensor.dtype is torch.bool:
        held = fill in (0, 1)
    elif tensor.is_floating_point() or tensor.is_complex():
        held = True
    else:
        limits = torch.iinfo(tensor.dtype)
        held = limits.min <= fill <= limits.max and fill == int(fill)
    if not held:
        raise BadInputError(f"fill value {fill!r} doesn't fit into {tensor.dtype}")
