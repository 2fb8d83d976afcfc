"""Sizes in whole units of a device's memory: how far a dimension is padded, padding it, and taking it back.

A device that lays out memory in units (`Constraints.alignment_bytes`; a stick of Spyre's is 128 bytes) pads the last
dimension of every tensor by itself. What it can't do by itself is pad where the size matters to others: the inner
dimension of a product, an attention head, a vocabulary, a block of the KV cache. That is done here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def up_to(size: int, multiple: int) -> int:
    """The smallest multiple that is not smaller than ``size``: ``up_to(65, 64)`` is 128, ``up_to(0, 64)`` is 0.

    Raises ValueError for a negative size, and for a multiple below 1.
    """
    if size < 0 or multiple < 1:
        raise ValueError(f"up_to({size}, {multiple}): the size must be 0 or more, the multiple 1 or more")
    return -(-size // multiple) * multiple


def pad(tensor: torch.Tensor, multiples: Mapping[int, int], value: float = 0) -> torch.Tensor:
    """``tensor`` with each named dimension padded at its end to its multiple: ``pad(weight, {-1: 64})``.

    Dimensions may count from the end. The tensor itself where nothing is to be padded, else a new one. `cut` undoes it.
    Pad where the tensor is made, before it is moved to the device: a device may be unable to write from the middle of a
    unit of memory on (torch-spyre#3916). Raises IndexError for a dimension that the tensor hasn't.
    """
    import torch

    shape = list(tensor.shape)
    for dimension, multiple in multiples.items():
        shape[dimension] = up_to(shape[dimension], multiple)
    more = [(0, to - size) for size, to in zip(tensor.shape, shape, strict=True)]
    if not any(end for _, end in more):
        return tensor
    return torch.nn.functional.pad(tensor, [each for pair in reversed(more) for each in pair], value=value)


def cut(tensor: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """The beginning of ``tensor`` in each dimension, as a view of this ``shape``; what `pad` has added is gone.

    Raises ValueError where the tensor is smaller than that, or has another number of dimensions.
    """
    if len(shape) != tensor.dim() or any(to > size for to, size in zip(shape, tensor.shape, strict=True)):
        raise ValueError(f"cut to {tuple(shape)}: the tensor is {tuple(tensor.shape)}")
    for dimension, size in enumerate(shape):
        tensor = tensor.narrow(dimension, 0, size)
    return tensor
