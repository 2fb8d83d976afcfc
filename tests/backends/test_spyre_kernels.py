"""Spyre's kernels against their references, on the CPU. None of them has run on hardware."""

from __future__ import annotations

import accelplug_spyre
import pytest
import torch

from accelplug.specs import Kernel

KERNELS = {kernel.name: kernel for kernel in accelplug_spyre.accelplug_kernels()}


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0)).half()


def check(kernel: Kernel, *arguments: object) -> None:
    atol, rtol = kernel.tolerance["float16"]
    got, want = kernel.load()(*arguments), kernel.reference(*arguments)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    torch.testing.assert_close(got, want, atol=atol, rtol=rtol)


@pytest.mark.parametrize("shape", [(128,), (3, 100), (2, 3, 256)])
def test_rms_norm(shape: tuple[int, ...]) -> None:
    check(KERNELS["rms_norm"], numbers(*shape), numbers(shape[-1]), 1e-6)


@pytest.mark.parametrize("shape", [(128,), (3, 256), (2, 3, 128)])
def test_silu_and_mul(shape: tuple[int, ...]) -> None:
    check(KERNELS["silu_and_mul"], numbers(*shape))


def test_the_halves_of_silu_and_mul_begin_on_whole_sticks() -> None:
    assert KERNELS["silu_and_mul"].accepts["input"].multiples == {-1: 128}


@pytest.mark.parametrize("name", KERNELS)
def test_the_reference_is_in_float32_and_ends_in_the_dtype_of_the_input(name: str) -> None:
    """2000 squared is no float16: a reference in float16 would be infinite."""
    large = torch.full((2, 128), 2000.0).half()
    arguments = (large, torch.ones(128).half(), 1e-6) if name == "rms_norm" else (large / 40,)
    assert KERNELS[name].reference(*arguments).isfinite().all()
