"""Padding tensors to a bucket and cutting results back."""

from __future__ import annotations

import pytest
import torch

from accelplug.buckets import Ladder, Slicer
from accelplug.buckets.tensors import cut, join, pad, unpad
from accelplug.errors import BadInputError


def test_a_tensor_is_padded_behind_with_the_callers_value() -> None:
    slots = pad(torch.tensor([[3, 4]]), 1, 4, -1)
    assert slots.tolist() == [[3, 4, -1, -1]]
    assert unpad(slots, 1, 2).tolist() == [[3, 4]]


@pytest.mark.parametrize(
    ("dtype", "fill"), [(torch.bool, False), (torch.uint8, 255), (torch.int32, -1), (torch.bfloat16, float("-inf"))]
)
def test_any_dtype_is_padded_and_keeps_it(dtype: torch.dtype, fill: float) -> None:
    padded = pad(torch.ones(2, 3, dtype=dtype), 0, 5, fill)
    assert padded.dtype == dtype
    assert padded.shape == (5, 3)
    assert (padded[2:] == fill).all()


def test_a_tensor_of_the_buckets_size_is_not_copied() -> None:
    tensor = torch.ones(4)
    assert pad(tensor, 0, 4, 0) is tensor


def test_a_negative_dimension_counts_from_the_end() -> None:
    assert pad(torch.ones(2, 3), -1, 4, 0).shape == (2, 4)


def test_what_cannot_be_padded_is_said() -> None:
    with pytest.raises(BadInputError, match="a tensor of 4 along dimension 0 can't be padded to 3"):
        pad(torch.ones(4), 0, 3, 0)
    with pytest.raises(BadInputError, match=r"fill value -1 doesn't fit into torch.uint8"):
        pad(torch.ones(1, dtype=torch.uint8), 0, 2, -1)
    with pytest.raises(BadInputError, match=r"fill value 0.5 doesn't fit into torch.int64"):
        pad(torch.ones(1, dtype=torch.int64), 0, 2, 0.5)
    with pytest.raises(BadInputError, match=r"fill value -inf doesn't fit into torch.int64"):
        pad(torch.ones(1, dtype=torch.int64), 0, 2, float("-inf"))
    with pytest.raises(BadInputError, match=r"fill value 2 doesn't fit into torch.bool"):
        pad(torch.ones(1, dtype=torch.bool), 0, 2, 2)


def test_a_prompt_in_slices_gives_what_it_gives_whole() -> None:
    prompt = torch.arange(1300).view(1, -1)
    slices = Slicer(Ladder.powers_of_two(512, 2048)).slices(1300)
    pieces = [*cut(prompt, 1, slices, -1)]
    assert [piece.shape[1] for piece in pieces] == [1024, 512]
    assert torch.equal(join([piece * 2 for piece in pieces], 1, slices), prompt * 2)
