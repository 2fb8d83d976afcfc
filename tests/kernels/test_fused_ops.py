"""accelplug's own operators: their numbers, their gradients, and what PyTorch's own check of operators says."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from accelplug import ops


def numbers(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()


def integers(*shape: int) -> torch.Tensor:
    return torch.randint(256, shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.uint8)


CALLS: dict[str, tuple[Any, ...]] = {
    "rms_norm": (numbers(2, 3, 8), numbers(8), 1e-5),
    "silu_and_mul": (numbers(2, 3, 8),),
    "rotary_embedding": (numbers(2, 3, 4, 8), numbers(2, 3, 4), numbers(2, 3, 4)),
    "quantized_linear": (numbers(2, 3, 8), integers(5, 4), numbers(5, 2), numbers(5, 2), numbers(5), 4),
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


@pytest.mark.parametrize("with_zeros", [False, True])
def test_quantized_linear_of_eight_bits_takes_each_group_of_a_row_with_its_scale_and_zero(with_zeros: bool) -> None:
    x, weight, scales, bias = numbers(3, 6), integers(2, 6), numbers(2, 3), numbers(2)
    zeros = numbers(2, 3) if with_zeros else None
    expected = torch.empty(3, 2, dtype=torch.float64)
    for row in range(2):
        middles = [128.0] * 3 if zeros is None else zeros[row].tolist()
        weights = [(weight[row, n].item() - middles[n // 2]) * scales[row, n // 2].item() for n in range(6)]
        expected[:, row] = x @ torch.tensor(weights, dtype=torch.float64) + bias[row]
    torch.testing.assert_close(ops.quantized_linear(x, weight, scales, zeros, bias, 8), expected)


def test_quantized_linear_of_four_bits_finds_the_first_of_two_values_in_the_lower_bits() -> None:
    x = torch.eye(2)
    got = ops.quantized_linear(x, torch.tensor([[0x9C]], dtype=torch.uint8), torch.ones(1, 1), None, None, 4)
    assert got.flatten().tolist() == [0xC - 8, 0x9 - 8]


@pytest.mark.parametrize(
    ("bits", "inputs", "groups"), [(2, 8, 1), (4, 6, 1), (8, 8, 1), (4, 8, 3)], ids=["bits", "short", "long", "groups"]
)
def test_weights_that_do_not_fit_are_refused_with_their_shapes(bits: int, inputs: int, groups: int) -> None:
    with pytest.raises(ValueError, match=r"takes weights of 4 or 8 bits.* got .* weight \(5, 4\)"):
        ops.quantized_linear(numbers(2, inputs), integers(5, 4), numbers(5, groups), None, None, bits)
