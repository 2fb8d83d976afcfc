"""The device beside the CPU: the same function on both, with results that have to agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from accelplug.conformance.checks import expect
from accelplug.conformance.subject import Subject

TOLERANCES = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}  # absolute and relative alike


def dtype_of(subject: Subject) -> torch.dtype:
    """The floating-point dtype to compare in: float32 where the device holds it, else the one that it prefers."""
    name = "float32" if subject.constraints.holds("float32") else subject.constraints.preferred_dtype or "float16"
    dtype: torch.dtype = getattr(torch, name)
    return dtype


def numbers(subject: Subject, *size: int) -> torch.Tensor:
    """Numbers between -1 and 1 on the CPU, the same on every machine."""
    return torch.arange(torch.Size(size).numel(), dtype=torch.float32).sin().reshape(size).to(dtype_of(subject))


def close(got: Any, wanted: Any, subject: Subject) -> None:
    """Raises AssertionError where results differ by more than the dtype's rounding, or aren't on the device."""
    for ours, right in zip(tree_leaves(got), tree_leaves(wanted), strict=True):
        if not isinstance(right, torch.Tensor):
            expect(ours == right, f"got {ours!r}, the CPU has {right!r}")
            continue
        expect(ours.device.type == subject.type, f"the result is on {ours.device}, not on {subject.type}")
        same_numbers(ours, right)


def same_numbers(got: torch.Tensor, wanted: torch.Tensor) -> None:
    """As ``close``, wherever the tensors are."""
    tolerance = TOLERANCES.get(wanted.dtype, TOLERANCES[torch.float32])
    torch.testing.assert_close(got.cpu(), wanted, rtol=tolerance, atol=tolerance, equal_nan=True, msg=_in_a_line)


def _in_a_line(text: str) -> str:
    return "; ".join(line.strip(" .!") for line in text.splitlines() if line.strip())


def same(subject: Subject, function: Callable[..., Any], *inputs: torch.Tensor) -> None:
    """The function gives on the device what it gives on the CPU."""
    wanted = function(*(x.clone() for x in inputs))
    close(function(*(x.to(subject.type) for x in inputs)), wanted, subject)


def same_gradients(subject: Subject, function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> None:
    """The gradients of the sum of the function's result agree."""
    on_cpu = [x.clone().requires_grad_() for x in inputs]
    on_device = [x.to(subject.type).requires_grad_() for x in inputs]
    wanted = torch.autograd.grad(function(*on_cpu).sum(), on_cpu)
    close(torch.autograd.grad(function(*on_device).sum(), on_device), wanted, subject)
