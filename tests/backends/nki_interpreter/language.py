"""``nki.language`` as far as the bodies use it. A function here also names the operator in an ``nki.isa`` call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from nki_interpreter.tensors import HBM, PARTITIONS, Place, Tile, machine, require, value

float32 = torch.float32
sbuf, psum, shared_hbm = Place.sbuf, Place.psum, Place.shared_hbm


class tile_size:  # noqa: N801 - NKI's name
    pmax = PARTITIONS
    gemm_stationary_fmax = 128
    gemm_moving_fmax = 512


def num_programs() -> int:
    return machine.cores


def program_id(axis: int) -> int:
    require(axis == 0, f"axis {axis} of the launch grid: it has one")
    return machine.core


def ndarray(shape: tuple[int, ...], dtype: torch.dtype, buffer: Place = sbuf) -> Tile:
    return Tile.new(tuple(shape), dtype, buffer)


def zeros(shape: tuple[int, ...], dtype: torch.dtype, buffer: Place = sbuf) -> Tile:
    made = ndarray(shape, dtype, buffer)
    made.write(torch.zeros(shape))
    return made


def load(src: Tile, dtype: torch.dtype | None = None) -> Tile:
    require(src.place is HBM, f"load from {src.place.value}")
    return _result(value(src), dtype or src.dtype)


def store(dst: Tile, value: Tile) -> None:
    require(dst.place is HBM, f"store to {dst.place.value}")
    require(value.place is Place.sbuf, f"store of a tile in {value.place.value}")
    require(dst.dtype == value.dtype, f"store of {value.dtype} to {dst.dtype}: whether that casts isn't documented")
    dst.write(value.data)


def copy(x: Tile, dtype: torch.dtype | None = None) -> Tile:
    return _unary(x, lambda v: v, dtype)


def square(x: Tile, dtype: torch.dtype | None = None) -> Tile:
    return _unary(x, torch.square, dtype)


def exp(x: Tile, dtype: torch.dtype | None = None) -> Tile:
    return _unary(x, torch.exp, dtype)


def silu(x: Tile, dtype: torch.dtype | None = None) -> Tile:
    return _unary(x, torch.nn.functional.silu, dtype)


def reciprocal(x: Tile, dtype: torch.dtype | None = None) -> Tile:
    return _unary(x, torch.reciprocal, dtype)


def rsqrt(x: Tile, dtype: torch.dtype | None = None) -> Tile:
    require(x.place is Place.sbuf, "rsqrt of a tile in PSUM, which NKI 0.5 took away")
    return _unary(x, torch.rsqrt, dtype)


def add(x: Tile, y: Tile | float, dtype: torch.dtype | None = None) -> Tile:
    return _binary(x, y, torch.add, dtype)


def subtract(x: Tile, y: Tile | float, dtype: torch.dtype | None = None) -> Tile:
    return _binary(x, y, torch.sub, dtype)


def multiply(x: Tile, y: Tile | float, dtype: torch.dtype | None = None) -> Tile:
    return _binary(x, y, torch.mul, dtype)


def mean(x: Tile, axis: int, keepdims: bool = False) -> Tile:
    return _reduced(x, axis, keepdims, lambda v: v.mean(-1, keepdim=True))


def sum(x: Tile, axis: int, keepdims: bool = False) -> Tile:
    return _reduced(x, axis, keepdims, lambda v: v.sum(-1, keepdim=True))


def max(x: Tile, axis: int, keepdims: bool = False) -> Tile:
    return _reduced(x, axis, keepdims, lambda v: v.amax(-1, keepdim=True))


def matmul(x: Tile, y: Tile) -> Tile:
    """``x @ y`` in PSUM; the transpose that the hardware needs is NKI's to insert."""
    for operand in (x, y):
        require(operand.place is Place.sbuf, f"matmul of a tile in {operand.place.value}")
    require(x.shape[1] <= tile_size.gemm_stationary_fmax, f"matmul of {x.shape}: its rows are at most 128 long")
    require(y.shape[1] <= tile_size.gemm_moving_fmax, f"matmul with {y.shape}: its rows are at most 512 long")
    require(x.shape[1] == y.shape[0], f"matmul of {x.shape} and {y.shape}")
    return _result(value(x) @ value(y), float32, psum)


def _result(values: torch.Tensor, dtype: torch.dtype, place: Place = sbuf) -> Tile:
    made = Tile.new(tuple(values.shape), dtype, place)
    made.write(values)
    return made


def _unary(x: Tile, compute: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype | None) -> Tile:
    require(x.on_chip, "a computation in HBM")
    return _result(compute(value(x)), dtype or x.dtype)


def _binary(x: Tile, y: Tile | float, compute: Callable[..., torch.Tensor], dtype: torch.dtype | None) -> Tile:
    require(x.on_chip, "a computation in HBM")
    if isinstance(y, Tile):
        require(y.on_chip, "a computation in HBM")
        require(x.shape == y.shape, f"operands of shapes {x.shape} and {y.shape}: bodies broadcast with views")
        require(not (x.place is y.place is psum), "both operands in PSUM")
    require(dtype is not None, "an operation of two without a dtype: what it would be isn't documented")
    assert dtype is not None
    return _result(compute(value(x), value(y) if isinstance(y, Tile) else y), dtype)


def _reduced(x: Tile, axis: int, keepdims: bool, compute: Callable[[torch.Tensor], torch.Tensor]) -> Tile:
    require(axis == 1 and len(x.shape) == 2 and keepdims, f"a reduction of {x.shape} over {axis}, keepdims={keepdims}")
    require(x.dtype == float32, f"a reduction in {x.dtype}: what it sums in isn't documented for all")
    return _unary(x, compute, None)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotImplementedError(f"nki.language.{name} is not in the tests' interpreter")
