"""A step's inputs go to the device in one transfer, and what reads them reads what the runner has copied."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from accelplug_vllm.native.packing import Packed, install

from accelplug.sim import build


class Buffer:
    """As vLLM's CpuGpuBuffer."""

    def __init__(self, values: list[int], dtype: torch.dtype = torch.int32, device: str = "cpu") -> None:
        self.cpu = torch.tensor(values, dtype=dtype)
        self.gpu = torch.zeros(len(values), dtype=dtype, device=device)

    def copy_to_gpu(self, n: int | None = None) -> torch.Tensor:
        return self.gpu[:n].copy_(self.cpu[:n], non_blocking=True)


class Runner:
    """What `install` needs of vLLM's runner: five inputs, the last of them the token ids."""

    def __init__(self, device: str = "cpu") -> None:
        self.device = torch.device(device)
        self.table = Buffer([7, 8, 9], device=device)
        self.rows = Buffer([0, 0, 1], torch.int64, device)
        self.mask = Buffer([1, 0, 1], torch.bool, device)
        self.computed = torch.zeros(3, dtype=torch.int32, device=device)
        self.input_ids = Buffer([0, 0, 0, 0], device=device)

    def _prepare_inputs(self, scheduler_output: object, *, ids: list[int]) -> torch.Tensor:
        self.input_ids.cpu[:3] = torch.tensor(ids)
        self.table.copy_to_gpu()
        self.rows.copy_to_gpu()
        self.mask.copy_to_gpu()
        self.computed[:2].copy_(torch.tensor([5, 6], dtype=torch.int32))
        positions = self.computed[self.rows.gpu] + 1
        self.input_ids.copy_to_gpu(3)
        return positions


def step(runner: Runner, ids: list[int]) -> list[int]:
    positions: list[int] = runner._prepare_inputs(SimpleNamespace(total_num_scheduled_tokens=3), ids=ids).tolist()
    return positions


def test_everything_arrives() -> None:
    runner = Runner()
    install(runner)
    for ids in ([11, 12, 13], [21, 22, 23]):
        assert step(runner, ids) == [6, 6, 7]
        assert runner.table.gpu.tolist() == [7, 8, 9]
        assert runner.rows.gpu.tolist() == [0, 0, 1]
        assert runner.mask.gpu.tolist() == [True, False, True]
        assert runner.input_ids.gpu.tolist() == [*ids, 0]


def test_a_buffer_that_is_filled_anew_is_copied_as_it_was() -> None:
    there, again = torch.zeros(2, dtype=torch.int64), torch.tensor([1, 2])
    with Packed("cpu", lambda: iter(())):
        there.copy_(again)
        again.numpy()[:] = 3
    assert there.tolist() == [1, 2]


@pytest.mark.parametrize("values", [[2**31, 0], [-(2**31) - 1, 0]])
def test_what_has_more_than_32_bits_is_copied_by_itself(values: list[int]) -> None:
    there = torch.zeros(2, dtype=torch.int64)
    with Packed("cpu", lambda: iter(())):
        there.copy_(torch.tensor(values))
    assert there.tolist() == values


def test_other_numbers_are_copied_by_themselves() -> None:
    there = torch.zeros(2)
    with Packed("cpu", lambda: iter(())):
        there.copy_(torch.tensor([0.5, 1.5]))
        assert there.tolist() == [0.5, 1.5]


PROGRAM = """
import accelplug
from test_native_packing import Runner, install, step

runner = Runner(str(accelplug.auto()))
for packed in (False, True):
    if packed:
        install(runner)
    before = accelplug.fallback_report().transfers.to_device_calls
    assert step(runner, [11, 12, 13]) == [6, 6, 7]
    print(accelplug.fallback_report().transfers.to_device_calls - before)
assert runner.input_ids.gpu.tolist() == [11, 12, 13, 0]
assert runner.mask.gpu.tolist() == [True, False, True]
"""


def test_the_device_counts_one_transfer(python: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    build.library()
    here = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})"
    done = python(f"{here}\n{PROGRAM}", ACCELPLUG_SIMULATE="neuron")
    assert done.stdout.split() == ["5", "1"], done.stderr
