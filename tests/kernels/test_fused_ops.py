"""accelplug's own operators: their numbers, their gradients, and what PyTorch's own check of operators says."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from accelplug import ops


def numbers(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()


CALLS: dict[str, tuple[Any, ...]] = {
    "rms_norm": (numbers(2, 3, 8), numbers(8), 1e-5),
    "silu_and_mul": (numbers(2, 3, 8),),
    "rotary_embedding": (numbers(2, 3, 4, 8), numbers(2, 3, 4), numbers(2, 3, 4)),
}


@pytest.mark.parametrize("name", CALLS)
def test_opcheck_accepts_it(name: str) -> None:
    torch.library.opcheck(getattr(torch.ops.accelplug, name).default, CALLS[name])


@pytest.mark.parametrize("name", CALLS)
def test_its_gradient_is_that_of_its_numbers(name: str) -> None:
    assert torch.autograd.gradcheck(getattr(ops, name), CALLS[name])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_rms_norm_is_pytorchs(dtype: torch.dtype) -> None:
    x, weight = numbers(4, 64, dtype=dtype), numbers(64, dtype=dtype)
    got, expected = ops.rms_norm(x, weight, 1e-6), torch.nn.functional.rms_norm(x, (64,), weight, 1e-6)
    assert got.dtype == dtype
    torch.testing.assert_close(got, expected)
    gradient = torch.ones_like(got)
    torch.testing.assert_close(
        torch.autograd.grad(got, (x, weight), gradient), torch.autograd.grad(expected, (x, weight), gradient)
    )


def test_silu_and_mul_takes_the_first_half_through_silu() -> None:
    x = numbers(3, 8)
    torch.testing.assert_close(ops.silu_and_mul(x), torch.nn.functional.silu(x[:, :4]) * x[:, 4:])


def test_rotary_embedding_is_that_of_llama_on_the_hub() -> None:
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    query = torch.randn(1, 4, 5, 8)  # (batch, heads, sequence, head_dim)
    angles = torch.randn(1, 5, 4)
    whole = torch.cat((angles, angles), -1)
    expected, _ = llama.apply_rotary_pos_emb(query, query, whole.cos(), whole.sin())
    got = ops.rotary_embedding(query.transpose(1, 2), angles.cos(), angles.sin()).transpose(1, 2)
    torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("name", ["silu_and_mul", "rotary_embedding"])
def test_an_odd_last_dimension_is_refused(name: str) -> None:
    tensors = [torch.zeros(2, 3)] * len(CALLS[name])
    with pytest.raises(ValueError, match=rf"accelplug::{name} halves the last dimension .* got shape \(2, 3\)"):
        getattr(ops, name)(*tensors)
