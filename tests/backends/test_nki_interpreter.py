"""The tests' interpreter of NKI refuses what AWS's documentation rules out: a body that passes has kept these rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nki_interpreter
import pytest
import torch
from nki_interpreter import RuleError
from nki_interpreter import isa as nisa
from nki_interpreter import language as nl


def tile(*shape: int, dtype: torch.dtype = torch.float32, place: Any = nl.sbuf) -> Any:
    made = nl.ndarray(shape, dtype, place)
    made.write(torch.ones(shape))
    return made


def refused(problem: str, call: Callable[[], Any]) -> None:
    def kernel(x: Any) -> Any:
        call()
        return nl.ndarray(x.shape, x.dtype, nl.shared_hbm)

    with pytest.raises(RuleError, match=problem):
        nki_interpreter.run(kernel, torch.ones(1))


def test_sizes_of_tiles() -> None:
    refused("129 partitions: there are 128", lambda: tile(129, 4))
    refused("needs two dimensions", lambda: tile(4))
    refused("4096 bytes in each partition of psum, which has 2048", lambda: tile(128, 1024, place=nl.psum))
    refused("bytes in each partition of sbuf, which has 196608", lambda: tile(1, 50000))
    refused("bytes in use", lambda: [tile(1, 20000) for _ in range(3)])


def test_what_the_tensor_engine_takes() -> None:
    out = (128, 512)
    refused(
        "reads SBUF, not psum",
        lambda: nisa.nc_matmul(tile(*out, place=nl.psum), tile(128, 128, place=nl.psum), tile(128, 512), False),
    )
    refused("writes PSUM, not sbuf", lambda: nisa.nc_matmul(tile(*out), tile(128, 128), tile(128, 512), False))
    refused(
        "at most 512 columns",
        lambda: nisa.nc_matmul(tile(*out, place=nl.psum), tile(128, 128), tile(128, 513), False),
    )
    refused(
        "at most 128 columns",
        lambda: nisa.nc_matmul(tile(*out, place=nl.psum), tile(128, 129), tile(128, 512), False),
    )
    refused(
        "sums in float32",
        lambda: nisa.nc_matmul(tile(*out, dtype=torch.bfloat16, place=nl.psum), tile(128, 128), tile(128, 512), False),
    )
    refused(
        "at most 128 by 128",
        lambda: nisa.nc_transpose(tile(128, 128, place=nl.psum), tile(128, 129), nisa.engine.tensor),
    )


def test_engines_and_memories() -> None:
    refused("a DMA from or to PSUM", lambda: nisa.dma_copy(tile(1, 4), tile(1, 4, place=nl.psum)))
    refused(
        "descriptors by the vector engine",
        lambda: nisa.dma_copy(tile(1, 4), tile(1, 4), nisa.dge_mode.hwdge, nisa.engine.vector),
    )
    refused(
        "tensor_tensor on the scalar engine",
        lambda: nisa.tensor_tensor(tile(1, 4), tile(1, 4), tile(1, 4), nl.add, nisa.engine.scalar),
    )
    refused(
        "can't reach PSUM",
        lambda: nisa.tensor_copy(tile(1, 4), tile(1, 4, place=nl.psum), nisa.engine.gpsimd),
    )
    refused(
        "both operands in PSUM",
        lambda: nl.add(tile(1, 4, place=nl.psum), tile(1, 4, place=nl.psum), torch.float32),
    )
    refused("rsqrt beyond what", lambda: nisa.activation(tile(1, 4), nl.rsqrt, tile(1, 4), scale=0.0))


def test_arguments_are_read_only_and_bounds_are_kept() -> None:
    def writes_its_argument(x: Any) -> Any:
        nl.store(x, nl.load(x))
        return x

    def reads_beyond(x: Any) -> Any:
        return nl.load(x[0:5, 0:4])

    with pytest.raises(RuleError, match="a write to an argument"):
        nki_interpreter.run(writes_its_argument, torch.ones(4, 4))
    with pytest.raises(RuleError, match="the slice 0:5 of 4"):
        nki_interpreter.run(reads_beyond, torch.ones(4, 4))


def test_a_result_must_be_whole_and_cores_must_agree() -> None:
    def half(x: Any) -> Any:
        result = nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
        nl.store(result[0:2, 0:4], nl.load(x[0:2, 0:4]))
        return result

    def own_number(x: Any) -> Any:
        result = nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
        nl.store(result, nl.add(nl.load(x), float(nl.program_id(0)), dtype=x.dtype))
        return result

    with pytest.raises(RuleError, match="8 elements of the result were never written"):
        nki_interpreter.run(half, torch.ones(4, 4))
    assert nki_interpreter.run(own_number, torch.ones(4, 4)).eq(1).all()
    with pytest.raises(RuleError, match="two cores wrote different values"):
        nki_interpreter.run(own_number, torch.ones(4, 4), cores=2)


def test_what_it_does_not_know_is_an_error() -> None:
    with pytest.raises(NotImplementedError, match=r"nki\.language\.cos is not in the tests' interpreter"):
        nl.cos(tile(1, 4))
    with pytest.raises(NotImplementedError, match=r"nki\.isa\.iota"):
        nisa.iota()
