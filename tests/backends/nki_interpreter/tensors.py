"""Memory of the interpreter: tensors in HBM, tiles in SBUF and PSUM, and the views that bodies take of them."""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import torch

PARTITIONS = 128
PARTITION_BYTES = {"sbuf": 192 * 1024, "psum": 16 * 1024}  # of a NeuronCore-v2, the smallest
PSUM_BANK_BYTES = 2048  # 512 numbers of float32


class RuleError(Exception):
    """A rule of the hardware or of NKI's documentation was broken."""


class Place(Enum):
    sbuf = "sbuf"
    psum = "psum"
    shared_hbm = "shared_hbm"


HBM = Place.shared_hbm


def require(fact: bool, problem: str) -> None:
    if not fact:
        raise RuleError(problem)


@dataclass
class Machine:
    """The core that a body runs on, and the bytes of a partition that are taken on it."""

    core: int = 0
    cores: int = 1
    taken: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PARTITION_BYTES, 0))

    def start(self, core: int, cores: int) -> None:
        self.core, self.cores = core, cores
        self.taken = dict.fromkeys(PARTITION_BYTES, 0)

    def take(self, storage: Storage) -> None:
        """Counts a tile until Python lets go of it."""
        place, taken = storage.place.value, self.taken
        size = math.prod(storage.data.shape[1:]) * storage.data.element_size()
        limit = PSUM_BANK_BYTES if storage.place is Place.psum else PARTITION_BYTES[place]
        require(size <= limit, f"a tile of {size} bytes in each partition of {place}, which has {limit}")
        taken[place] += size
        require(
            taken[place] <= PARTITION_BYTES[place],
            f"{taken[place]} bytes in use in each partition of {place}, which has {PARTITION_BYTES[place]}",
        )
        weakref.finalize(storage, _give_back, taken, place, size)


def _give_back(taken: dict[str, int], place: str, size: int) -> None:
    taken[place] -= size


machine = Machine()


class Storage:
    """Bytes in one place, and which of them were written."""

    def __init__(self, data: torch.Tensor, place: Place, argument: bool = False) -> None:
        self.data, self.place, self.argument = data, place, argument
        self.written = torch.full(data.shape, argument)
        if place is not HBM:
            require(data.dim() >= 2, f"a tile in {place.value} of shape {tuple(data.shape)}: it needs two dimensions")
            require(data.shape[0] <= PARTITIONS, f"{data.shape[0]} partitions: there are {PARTITIONS}")
            machine.take(self)


class Tile:
    """NkiTensor: a view of a storage."""

    def __init__(self, storage: Storage, data: torch.Tensor, written: torch.Tensor) -> None:
        self.storage, self.data, self._written = storage, data, written

    @classmethod
    def new(cls, shape: tuple[int, ...], dtype: torch.dtype, place: Place) -> Tile:
        require(all(size >= 1 for size in shape), f"a tensor of shape {shape}")
        storage = Storage(torch.full(shape, math.nan, dtype=dtype), place)
        return cls(storage, storage.data, storage.written)

    @classmethod
    def argument(cls, tensor: torch.Tensor) -> Tile:
        storage = Storage(tensor.detach().clone(), HBM, argument=True)
        return cls(storage, storage.data, storage.written)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.data.shape)

    @property
    def dtype(self) -> torch.dtype:
        return self.data.dtype

    @property
    def place(self) -> Place:
        return self.storage.place

    @property
    def on_chip(self) -> bool:
        return self.place is not HBM

    def write(self, values: torch.Tensor) -> None:
        """Rounds float32 values to this dtype. Raises RuleError for an argument of the kernel, or another shape."""
        require(not self.storage.argument, "a write to an argument of the kernel")
        require(values.shape == self.data.shape, f"{tuple(values.shape)} written to {self.shape}")
        require(0 not in self.data.stride() or self.data.numel() == 1, "a write to a broadcast view")
        self.data.copy_(values)
        self._written.fill_(True)

    def __getitem__(self, key: Any) -> Tile:
        keys = key if isinstance(key, tuple) else (key,)
        require(len(keys) == len(self.shape), f"{len(keys)} indices of a tensor with {len(self.shape)} dimensions")
        for number, size in zip(keys, self.shape, strict=True):
            require(isinstance(number, slice), f"the index {number!r}: bodies use slices")
            start, stop = number.start or 0, size if number.stop is None else number.stop
            require(0 <= start < stop <= size, f"the slice {start}:{stop} of {size}")
            require(number.step is None, "slices with a step are not known here")
        return self._view(lambda tensor: tensor[keys])

    def reshape(self, shape: tuple[int, ...]) -> Tile:
        require(math.prod(shape) == self.data.numel(), f"{self.shape} reshaped to {shape}")
        require(not self.on_chip or shape[0] == self.shape[0], "a reshape that moves partitions")
        return self._view(lambda tensor: tensor.view(shape))

    def expand_dim(self, dim: int) -> Tile:
        require(not self.on_chip or dim != 0, "expand_dim of the partitions")
        return self._view(lambda tensor: tensor.unsqueeze(dim))

    def broadcast(self, dim: int, size: int) -> Tile:
        require(self.shape[dim] == 1, f"broadcast of a dimension of {self.shape[dim]}")
        require(not self.on_chip or dim != 0, "broadcast over partitions")
        shape = [size if at == dim else -1 for at in range(len(self.shape))]
        return self._view(lambda tensor: tensor.expand(shape))

    def _view(self, take: Any) -> Tile:
        return Tile(self.storage, take(self.data), take(self._written))


def value(operand: Tile) -> torch.Tensor:
    """What the engines compute with: float32."""
    return operand.data.to(torch.float32)
