"""Decompositions that move elements about. Imports torch: only `accelplug_neuron.decompositions` imports this."""

from __future__ import annotations

import torch
from torch import Tensor


def topk(x: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """The first ``k`` of a sort along ``dim``; always sorted. Equal values keep their order."""
    if x.dim() == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    values, indices = torch.sort(x, stable=True, dim=dim, descending=largest)
    return values.narrow(dim, 0, k).contiguous(), indices.narrow(dim, 0, k).contiguous()


def index_copy(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """``x`` with its slices ``index`` along ``dim`` replaced by those of ``source``, as one scatter."""
    if x.dim() == 0:
        return source.reshape(x.shape).clone()
    dim = dim % x.dim()
    index = index.reshape([-1 if d == dim else 1 for d in range(x.dim())])
    if source.dim() == 0:
        source = source.reshape(index.shape)
    return torch.scatter(x, dim, index.expand(source.shape), source)


def nonzero_static(x: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """Coordinates of the first ``size`` elements that aren't zero, ``[size, x.dim()]``; missing ones ``fill_value``.

    Each such element is numbered by a running sum and writes its flat position into the slot of its number; all others
    write into one slot more, which is dropped.
    """
    found = x.ne(0).reshape(-1)
    number = found.cumsum(0) - 1
    slot = torch.where(found & (number < size), number, size)
    positions = torch.arange(x.numel(), device=x.device)
    flat = torch.scatter(torch.full([size + 1], -1, dtype=torch.int64, device=x.device), 0, slot, positions)[:size]
    coordinates = []
    stride = x.numel()
    for length in x.shape:
        stride = stride // length if length else 0
        along = flat // stride % length if stride else flat
        coordinates.append(torch.where(flat >= 0, along, fill_value))
    if not coordinates:
        return torch.empty([size, 0], dtype=torch.int64, device=x.device)
    return torch.stack(coordinates, dim=1)
