"""What the programs share that run PyTorch op by op on a simulated device: how a case is declared and compared."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
import torch

DEVICE = os.environ.get("ACCELPLUG_SIMULATE", "")  # "" where only the cases' names are read
CASES: dict[str, Callable[[], None]] = {}
NEURON_ONLY: set[str] = set()  # what needs several devices, complex numbers, or float64


def case(function: Callable[[], None]) -> Callable[[], None]:
    CASES[function.__name__] = function
    return function


def neuron_only(function: Callable[[], None]) -> Callable[[], None]:
    NEURON_ONLY.add(function.__name__)
    return case(function)


def numbers(*size: int) -> torch.Tensor:
    return torch.arange(torch.Size(size).numel(), dtype=torch.float32).sin().reshape(size)


def same(function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> None:
    """The function gives the same on the device as on the CPU, and its result is on the device."""
    expected = function(*inputs)
    got = function(*(x.to(DEVICE) for x in inputs))
    assert got.device.type == DEVICE, f"the result is on {got.device}"
    assert torch.equal(got.cpu(), expected), (got.cpu() - expected).abs().max()


def same_gradients(function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> None:
    """The gradients of the sum of the function's result are the same on both."""
    cpu = [x.clone().requires_grad_() for x in inputs]
    device = [x.to(DEVICE).requires_grad_() for x in inputs]
    function(*cpu).sum().backward()
    function(*device).sum().backward()
    for x, y in zip(cpu, device, strict=True):
        assert y.grad.device.type == DEVICE
        assert torch.equal(x.grad, y.grad.cpu())


def raises(error: type[BaseException], words: str, function: Callable[[], object]) -> None:
    with pytest.raises(error) as caught:
        function()
    assert words in str(caught.value), caught.value


A, B = numbers(8, 8), numbers(8, 8).cos()
