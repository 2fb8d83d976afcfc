"""The rule for devices that compute in another order: 4 times the epsilon of the less precise dtype, and no more.

That is relative and absolute, which PyTorch adds up: of a one it is 8 times the epsilon.
"""

from __future__ import annotations

import pytest
import torch

from accelplug.testing.tolerances import Tolerances


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_exact_equality_becomes_four_epsilon_and_the_test_is_marked(dtype: torch.dtype) -> None:
    tolerances, one = Tolerances(), torch.ones(1, dtype=dtype)
    tolerances.assert_close(one * (1 + 7 * torch.finfo(dtype).eps), one, rtol=0, atol=0)
    assert tolerances.needed


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_more_than_four_epsilon_still_fails(dtype: torch.dtype) -> None:
    one = torch.ones(1, dtype=dtype)
    with pytest.raises(AssertionError):
        Tolerances().assert_close(one * (1 + 9 * torch.finfo(dtype).eps), one, rtol=0, atol=0)


def test_what_is_close_by_the_tests_own_tolerance_is_not_marked() -> None:
    tolerances = Tolerances()
    tolerances.assert_close(torch.tensor(1.0), torch.tensor(1.05), rtol=0.1, atol=0)
    assert tolerances.allclose(torch.tensor(1.0), torch.tensor(1.05), rtol=0.1)
    assert not tolerances.needed


def test_the_less_precise_of_two_dtypes_decides() -> None:
    exact, rounded = torch.tensor(1.0), torch.tensor(1.0 + 2**-7, dtype=torch.bfloat16)
    tolerances = Tolerances()
    tolerances.assert_close(exact, rounded, rtol=0, atol=0, check_dtype=False)
    assert tolerances.needed


def test_a_tests_wider_tolerance_is_kept_where_the_other_one_is_relaxed() -> None:
    tolerances = Tolerances()
    tolerances.assert_close(torch.tensor([100.0, 3e-7]), torch.tensor([101.0, 0.0]), rtol=0.02, atol=0)
    assert tolerances.needed


def test_defaults_are_never_tightened() -> None:
    tolerances = Tolerances()
    tolerances.assert_close({"a": [torch.tensor(1.0)]}, {"a": [torch.tensor(1.0 + 1e-6)]})
    assert not tolerances.needed


def test_integers_are_compared_as_before() -> None:
    with pytest.raises(AssertionError):
        Tolerances().assert_close(torch.tensor([1]), torch.tensor([2]))


def test_allclose_follows_the_same_rule() -> None:
    tolerances, one = Tolerances(), torch.ones(1, dtype=torch.float16)
    assert tolerances.allclose(one, one + 3e-3)
    assert tolerances.needed
    assert not Tolerances().allclose(one, one + 3e-2)
