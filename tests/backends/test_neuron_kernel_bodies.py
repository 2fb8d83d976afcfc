"""The bodies of Neuron's NKI kernels give what their references give, in the limits that AWS documents.

They run under an interpreter of the calls they use (`nki_interpreter`). They have not met the NKI compiler.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import nki_interpreter
import pytest
import torch
from accelplug_neuron.kernels import kernels, matmul, rms_norm, rotary_embedding, silu_and_mul, softmax
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_interpreter import RuleError

from accelplug.specs import Kernel

NKI = {kernel.name: kernel for kernel in kernels() if kernel.provider == "nki"}
DTYPES = st.sampled_from(["float32", "bfloat16", "float16"])
CORES = st.sampled_from([1, 2])
FEW = settings(max_examples=12)


@pytest.fixture(autouse=True, scope="module")
def nki() -> Iterator[None]:
    with nki_interpreter.importable():
        yield


def body(kernel: Kernel) -> Callable[..., Any]:
    """What the kernel's `load` would have compiled: "mm_isa" is `isa` of the module for matrices."""
    operator, level = kernel.name.rsplit("_", 1)
    module = {"mm": "matmul"}.get(operator, operator)
    return getattr(importlib.import_module(f"accelplug_neuron.kernels.bodies.{module}"), level)


def numbers(*shape: int, dtype: str = "float32") -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(getattr(torch, dtype))


def check(kernel: Kernel, expected: torch.Tensor, *arguments: Any, cores: int = 1) -> None:
    got = nki_interpreter.run(body(kernel), *arguments, cores=cores)
    absolute, relative = kernel.tolerance[str(expected.dtype).removeprefix("torch.")]
    torch.testing.assert_close(got, expected, atol=absolute, rtol=relative, equal_nan=True)


@pytest.mark.parametrize("level", ["tile", "isa"])
@FEW
@given(rows=st.integers(1, 300), hidden=st.integers(1, 600), dtype=DTYPES, weight=DTYPES, cores=CORES)
def test_rms_norm(level: str, rows: int, hidden: int, dtype: str, weight: str, cores: int) -> None:
    x, w = numbers(rows, hidden, dtype=dtype), numbers(hidden, dtype=weight)
    check(NKI[f"rms_norm_{level}"], rms_norm.rms_norm(x, w, 1e-6), x, w, 1e-6, cores=cores)


@pytest.mark.parametrize("level", ["tile", "isa"])
@FEW
@given(rows=st.integers(1, 300), width=st.integers(1, 2100), dtype=DTYPES, cores=CORES)
def test_silu_and_mul(level: str, rows: int, width: int, dtype: str, cores: int) -> None:
    x = numbers(rows, 2 * width, dtype=dtype)
    check(NKI[f"silu_and_mul_{level}"], silu_and_mul.silu_and_mul(x), x, cores=cores)


@FEW
@given(
    tokens=st.integers(1, 200),
    heads=st.integers(1, 9),
    half=st.integers(1, 64),
    dtype=DTYPES,
    angles=DTYPES,
    cores=CORES,
)
def test_rotary_embedding(tokens: int, heads: int, half: int, dtype: str, angles: str, cores: int) -> None:
    x = numbers(tokens, heads, 2 * half, dtype=dtype)
    turn = numbers(tokens, half)
    cos, sin = (values.to(getattr(torch, angles)) for values in (turn.cos(), turn.sin()))
    check(NKI["rotary_embedding_tile"], rotary_embedding.rotary_embedding(x, cos, sin), x, cos, sin, cores=cores)


@FEW
@given(rows=st.integers(1, 300), width=st.integers(1, 900), dtype=DTYPES, masked=st.booleans(), cores=CORES)
def test_softmax(rows: int, width: int, dtype: str, masked: bool, cores: int) -> None:
    x = numbers(rows, width, dtype=dtype) * 30
    if masked:
        x = x.masked_fill(numbers(rows, width) > 0, -torch.inf)  # a row may be masked in full: NaN, as PyTorch's
    check(NKI["softmax_tile"], softmax.softmax(x, -1, False), x, cores=cores)


@pytest.mark.parametrize("level", ["tile", "isa"])
@FEW
@given(m=st.integers(1, 3), k=st.integers(1, 3), n=st.integers(1, 5), dtype=DTYPES, cores=CORES)
def test_matmul(level: str, m: int, k: int, n: int, dtype: str, cores: int) -> None:
    a, b = numbers(128 * m, 128 * k, dtype=dtype), numbers(128 * k, 128 * n, dtype=dtype)
    check(NKI[f"mm_{level}"], matmul.mm(a, b), a, b, cores=cores)


WIDEST = {
    "rms_norm_isa": lambda: (numbers(128, 8192), numbers(8192), 1e-6),
    "rms_norm_tile": lambda: (numbers(128, 8192), numbers(8192), 1e-6),
    "silu_and_mul_isa": lambda: (numbers(128, 2 * 20000),),
    "silu_and_mul_tile": lambda: (numbers(128, 2 * 20000),),
    "rotary_embedding_tile": lambda: (numbers(128, 64, 128), numbers(128, 64), numbers(128, 64)),
    "softmax_tile": lambda: (numbers(128, 8192),),
    "mm_isa": lambda: (numbers(128, 16384), numbers(16384, 512)),
    "mm_tile": lambda: (numbers(128, 16384), numbers(16384, 512)),
}


@pytest.mark.parametrize("name", NKI)
def test_the_widest_tensors_that_a_kernel_accepts_fit_on_the_chip(name: str) -> None:
    arguments = WIDEST[name]()
    extra = (-1, False) if name == "softmax_tile" else ()
    check(NKI[name], NKI[name].reference(*arguments, *extra), *arguments)


def test_a_row_that_is_too_wide_does_not_fit() -> None:
    with pytest.raises(RuleError, match="bytes in use in each partition of sbuf, which has 196608"):
        nki_interpreter.run(body(NKI["rms_norm_tile"]), numbers(1, 12288), numbers(12288), 1e-6)
