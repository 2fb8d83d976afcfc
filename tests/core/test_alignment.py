"""Sizes in whole units of a device's memory: padding is the least there is, and cutting undoes it."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some

from accelplug.alignment import cut, pad, up_to
from accelplug.specs import Constraints

sizes = some.integers(0, 300)
multiples = some.integers(1, 128)
shapes = some.lists(some.integers(0, 5), min_size=1, max_size=4)
DTYPES = ("bool", "int8", "uint16", "int32", "int64", "float16", "bfloat16", "float32", "complex64", "float8_e4m3fn")


@given(sizes, multiples)
def test_up_to_is_the_smallest_multiple_that_is_no_smaller(size: int, multiple: int) -> None:
    found = up_to(size, multiple)
    assert found % multiple == 0
    assert size <= found < size + multiple


@pytest.mark.parametrize(("size", "multiple"), [(-1, 64), (3, 0)])
def test_up_to_takes_no_other_sizes(size: int, multiple: int) -> None:
    with pytest.raises(ValueError, match=r"up_to\("):
        up_to(size, multiple)


@given(shapes, multiples, some.data())
def test_cutting_undoes_padding(shape: list[int], multiple: int, data: some.DataObject) -> None:
    dimension = data.draw(some.integers(-len(shape), len(shape) - 1))
    tensor = torch.arange(torch.Size(shape).numel()).reshape(shape)
    padded = pad(tensor, {dimension: multiple}, value=-1)
    assert padded.shape[dimension] == up_to(shape[dimension], multiple)
    assert torch.equal(cut(padded, shape), tensor)
    assert padded.eq(-1).sum() == padded.numel() - tensor.numel()


def test_a_tensor_that_fits_is_not_copied() -> None:
    weight = torch.ones(3, 128)
    assert pad(weight, {-1: 64, 0: 3}) is weight


def test_a_padded_product_is_the_product() -> None:
    a, b = torch.randn(3, 70), torch.randn(70, 5)
    padded = pad(a, {-1: 64}) @ pad(b, {0: 64, 1: 64})
    torch.testing.assert_close(cut(padded, (3, 5)), a @ b)


def test_gradients_come_through_padding_and_cutting() -> None:
    x = torch.ones(3, 5, requires_grad=True)
    cut(pad(x, {1: 64}) * 2, (3, 5)).sum().backward()
    assert torch.equal(x.grad, torch.full((3, 5), 2.0))


@pytest.mark.parametrize("shape", [(3,), (3, 6), (4, 5)])
def test_what_is_no_part_of_the_tensor_is_not_cut(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="the tensor is"):
        cut(torch.ones(3, 5), shape)


@given(some.lists(sizes, max_size=4), some.sampled_from(DTYPES), some.sampled_from([1, 2, 64, 128]))
def test_a_padded_shape_differs_in_its_last_dimension_alone(shape: list[int], dtype: str, unit_bytes: int) -> None:
    rules = Constraints(alignment_bytes=unit_bytes)
    padded = rules.padded(shape, dtype)
    assert padded[:-1] == tuple(shape[:-1])
    assert len(padded) == len(shape)
    if shape:
        itemsize = getattr(torch, dtype).itemsize
        assert padded[-1] >= shape[-1]
        assert padded[-1] * itemsize % max(unit_bytes, itemsize) == 0
        assert padded[-1] == up_to(shape[-1], rules.unit(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_size_of_an_element_is_torchs(dtype: str) -> None:
    assert Constraints(alignment_bytes=1024).unit(dtype) == 1024 // getattr(torch, dtype).itemsize


def test_an_unknown_dtype_is_an_error() -> None:
    with pytest.raises(ValueError, match="unknown dtype 'half'"):
        Constraints(alignment_bytes=128).padded((3,), "half")
