"""``nki.isa`` as far as the bodies use it: what each instruction takes, where from, and on which engine."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import torch

from nki_interpreter import language as nl
from nki_interpreter.tensors import Place, Tile, require, value

Op = Callable[..., Any]
ACTIVATIONS: dict[Op, Callable[[torch.Tensor], torch.Tensor]] = {
    nl.copy: lambda v: v,
    nl.exp: torch.exp,
    nl.rsqrt: torch.rsqrt,
    nl.silu: torch.nn.functional.silu,
    nl.square: torch.square,
}
ARITHMETIC: dict[Op, Callable[..., torch.Tensor]] = {
    nl.add: torch.add,
    nl.multiply: torch.mul,
    nl.subtract: torch.sub,
}
RSQRT_RANGE = (2.0**-87, 2.0**97)  # of the Scalar Engine


class engine(Enum):  # noqa: N801 - NKI's name
    unknown = 0
    tensor = 1
    scalar = 2
    gpsimd = 3
    vector = 5
    sync = 6


class dge_mode(Enum):  # noqa: N801 - NKI's name
    unknown = 0
    hwdge = 2


class reduce_cmd(Enum):  # noqa: N801 - NKI's name
    idle = 0
    reset_reduce = 3


def dma_copy(dst: Tile, src: Tile, dge_mode: dge_mode = dge_mode.unknown, engine: engine = engine.unknown) -> None:
    for operand in (dst, src):
        require(operand.place is not Place.psum, "a DMA from or to PSUM")
    if engine.name != "unknown":
        require(dge_mode.name == "hwdge", "an engine for descriptors that isn't asked to make them in hardware")
        require(engine.name in ("sync", "scalar"), f"descriptors by the {engine.name} engine")
    require(dst.shape == src.shape, f"a DMA of {src.shape} to {dst.shape}")
    dst.write(value(src))


def activation(
    dst: Tile,
    op: Op,
    data: Tile,
    bias: Tile | float | None = None,
    scale: Tile | float = 1.0,
    reduce_op: Op | None = None,
    reduce_res: Tile | None = None,
    reduce_cmd: reduce_cmd = reduce_cmd.idle,
) -> None:
    """The Scalar Engine: ``op(data * scale + bias)``, and the sum of that along each partition."""
    _on_chip(dst, data)
    require(op in ACTIVATIONS, f"the Scalar Engine has no {op.__name__} here")
    given = value(data) * _scalar(scale, data) + (0.0 if bias is None else _scalar(bias, data))
    if op is nl.rsqrt:
        low, high = RSQRT_RANGE
        require(bool(((given >= low) & (given <= high)).all()), "rsqrt beyond what the Scalar Engine takes")
    result = ACTIVATIONS[op](given)
    dst.write(result)
    if reduce_res is None:
        require(reduce_op is None and reduce_cmd.name == "idle", "a reduction that goes nowhere")
        return
    require(reduce_op is nl.add, "the Scalar Engine only sums")
    require(reduce_cmd.name == "reset_reduce", "a sum over what an earlier instruction left")
    require(reduce_res.shape == (data.shape[0], 1), f"sums of {data.shape} in {reduce_res.shape}")
    _on_chip(reduce_res)
    reduce_res.write(result.sum(-1, keepdim=True))


def tensor_scalar(dst: Tile, data: Tile, op0: Op, operand0: Tile | float, engine: engine = engine.unknown) -> None:
    _on_chip(dst, data)
    allowed = ("unknown", "vector", "scalar", "gpsimd")
    require(engine.name in allowed, f"tensor_scalar on the {engine.name} engine")
    require(engine.name != "gpsimd" or op0 is nl.rsqrt, "the GpSimd engine has rsqrt only")
    dst.write(ARITHMETIC[op0](value(data), _scalar(operand0, data)))


def tensor_tensor(dst: Tile, data1: Tile, data2: Tile, op: Op, engine: engine = engine.unknown) -> None:
    _on_chip(dst, data1, data2)
    require(engine.name in ("unknown", "vector", "gpsimd"), f"tensor_tensor on the {engine.name} engine")
    require(not (data1.place is data2.place is Place.psum), "both operands in PSUM")
    _no_psum_for_gpsimd(engine, dst, data1, data2)
    require(data1.shape == data2.shape, f"tensor_tensor of {data1.shape} and {data2.shape}")
    dst.write(ARITHMETIC[op](value(data1), value(data2)))


def tensor_copy(dst: Tile, src: Tile, engine: engine = engine.unknown) -> None:
    _on_chip(dst, src)
    require(engine.name in ("unknown", "vector", "scalar", "gpsimd"), f"tensor_copy on the {engine.name} engine")
    _no_psum_for_gpsimd(engine, dst, src)
    dst.write(value(src))


def nc_transpose(dst: Tile, data: Tile, engine: engine = engine.unknown) -> None:
    require(engine.name == "tensor", f"nc_transpose on the {engine.name} engine: bodies use the Tensor Engine")
    require(data.place is Place.sbuf and dst.place is Place.psum, "the Tensor Engine reads SBUF and writes PSUM")
    require(all(size <= 128 for size in data.shape), f"nc_transpose of {data.shape}: at most 128 by 128")
    require(dst.dtype == data.dtype, f"nc_transpose of {data.dtype} to {dst.dtype}")
    dst.write(value(data).t())


def nc_matmul(dst: Tile, stationary: Tile, moving: Tile, accumulate: bool | None = None) -> None:
    """``stationary.T @ moving``, written or added to PSUM."""
    for operand in (stationary, moving):
        require(operand.place is Place.sbuf, f"the Tensor Engine reads SBUF, not {operand.place.value}")
    require(dst.place is Place.psum, f"the Tensor Engine writes PSUM, not {dst.place.value}")
    require(dst.dtype == torch.float32, f"the Tensor Engine sums in float32, not {dst.dtype}")
    wide = {operand.dtype for operand in (stationary, moving)}
    require(len(wide) == 1 or torch.float32 not in wide, "float32 with a narrower dtype")
    require(stationary.shape[0] == moving.shape[0], f"contraction of {stationary.shape} and {moving.shape}")
    require(stationary.shape[1] <= 128, f"a stationary tile of {stationary.shape}: at most 128 columns")
    require(moving.shape[1] <= 512, f"a moving tile of {moving.shape}: at most 512 columns")
    require(accumulate is not None, "nc_matmul without accumulate: bodies say it")
    product = value(stationary).t() @ value(moving)
    dst.write(dst.data + product if accumulate else product)


def _on_chip(*operands: Tile) -> None:
    for operand in operands:
        require(operand.on_chip, "an engine computes on chip, not in HBM")
    require(len({operand.shape[0] for operand in operands}) == 1, "operands on different partitions")


def _no_psum_for_gpsimd(engine: engine, *operands: Tile) -> None:
    if engine.name == "gpsimd":
        require(all(operand.place is Place.sbuf for operand in operands), "the GpSimd Engine can't reach PSUM")


def _scalar(operand: Tile | float, data: Tile) -> torch.Tensor | float:
    """A number, or one of float32 for each partition."""
    if not isinstance(operand, Tile):
        return operand
    require(operand.dtype == torch.float32, f"a vector of {operand.dtype}: it must be float32")
    require(operand.shape == (data.shape[0], 1), f"a vector of shape {operand.shape} for {data.shape}")
    return value(operand)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotImplementedError(f"nki.isa.{name} is not in the tests' interpreter")
