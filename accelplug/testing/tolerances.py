"""Tolerances for devices that compute in another order than the one a test was written on.

The rule: a comparison of floating-point tensors that fails is made again with tolerances, relative and absolute, of at
least `UNITS` times the machine epsilon of the less precise dtype of the two. The test that needed it is marked so.
Integers, and comparisons that a test makes itself, stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

UNITS = 4

# What torch.testing.assert_close documents as its own, by dtype: relative, absolute.
DEFAULTS = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
}


def least(*compared: Any) -> tuple[torch.dtype, float] | None:
    """The least precise floating dtype among these, and the smallest tolerance it is given; None where none is."""
    dtypes = [tensor.dtype for tensor in _tensors(compared) if tensor.is_floating_point()]
    if not dtypes:
        return None
    coarsest = max(dtypes, key=lambda dtype: torch.finfo(dtype).eps)
    return coarsest, UNITS * torch.finfo(coarsest).eps


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        yield from _tensors([*value.values()])
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for each in value:
            yield from _tensors(each)


class Tolerances:
    """``torch.testing.assert_close`` and ``torch.allclose`` by the rule. ``needed`` says whether one had to be."""

    def __init__(self) -> None:
        self.needed = False
        self._assert_close = torch.testing.assert_close
        self._allclose = torch.allclose

    def install(self) -> None:
        """For this process, from now on: test files that import the functions by name get these."""
        torch.testing.assert_close = self.assert_close
        torch.allclose = self.allclose

    def assert_close(
        self, actual: Any, expected: Any, *, rtol: float | None = None, atol: float | None = None, **options: Any
    ) -> None:
        try:
            self._assert_close(actual, expected, rtol=rtol, atol=atol, **options)
        except AssertionError:
            found = least(actual, expected)
            if found is None:
                raise
            dtype, smallest = found
            if rtol is None or atol is None:
                rtol, atol = DEFAULTS.get(dtype, (0.0, 0.0))
            self._assert_close(actual, expected, rtol=max(rtol, smallest), atol=max(atol, smallest), **options)
            self.needed = True

    def allclose(
        self,
        input: torch.Tensor,
        other: torch.Tensor,
        rtol: float = 1e-5,
        atol: float = 1e-8,
        equal_nan: bool = False,
    ) -> bool:
        if self._allclose(input, other, rtol, atol, equal_nan):
            return True
        found = least(input, other)
        if found is None or not self._allclose(input, other, max(rtol, found[1]), max(atol, found[1]), equal_nan):
            return False
        self.needed = True
        return True
