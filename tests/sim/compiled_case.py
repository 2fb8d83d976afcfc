"""What the programs share that compile on a simulated device: how a case is declared and compared."""

from __future__ import annotations

from collections.abc import Callable

import torch

CASES: dict[str, Callable[[str], None]] = {}
NEURON_ONLY: set[str] = set()  # what the other SDK has not


def case(function: Callable[[str], None]) -> Callable[[str], None]:
    CASES[function.__name__] = function
    return function


def neuron_only(function: Callable[[str], None]) -> Callable[[str], None]:
    NEURON_ONLY.add(function.__name__)
    return case(function)


def cases_of(device: str) -> list[str]:
    return [name for name in CASES if device == "neuron" or name not in NEURON_ONLY]


def close(got: torch.Tensor, want: torch.Tensor, device: str) -> None:
    assert got.device.type == device, got.device
    torch.testing.assert_close(got.cpu(), want)


def compiled_on(device: str) -> int:
    """How many graphs accelplug has compiled for the device."""
    return torch._dynamo.utils.counters["accelplug"][f"graphs compiled for {device}"]
