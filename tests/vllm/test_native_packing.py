"""A step's inputs go to the device in one transfer, and what reads them reads what the runner has copied."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from accelplug_vllm.native.attention import step
from accelplug_vllm.native.attention.metadata import PagedMetadataBuilder
from accelplug_vllm.native.attention.pieces import Padding
from accelplug_vllm.native.packing import Packed, install

from accelplug.sim import build

TWO_ROWS = Padding(requests=lambda count: max(count, 2))


class Buffer:
    """As vLLM's CpuGpuBuffer."""

    def __init__(self, values: list[int], dtype: torch.dtype = torch.int32, device: str = "cpu") -> None:
        self.cpu = torch.tensor(values, dtype=dtype)
        self.gpu = torch.zeros(len(values), dtype=dtype, device=device)

    def copy_to_gpu(self, n: int | None = None) -> torch.Tensor:
        return self.gpu[:n].copy_(self.cpu[:n], non_blocking=True)


class Builder(PagedMetadataBuilder):
    """Of a layer whose batches are cut into requests of one query and of several, as accelplug's are."""

    def __init__(self) -> None:
        self._no_cache = False
        self._needs = step.Needs({None}, False, torch.float32, block_size=8, most_keys=1 << 20, padding=TWO_ROWS)
        self._ahead = None


class Runner:
    """What `install` needs of vLLM's runner: five inputs, the last of them the token ids, and attention's layout.

    Where one is for a token that the step before has sampled, two tensors more say which.
    """

    def __init__(self, device: str = "cpu") -> None:
        self.device = torch.device(device)
        self.table = Buffer([7, 8, 9], device=device)
        self.rows = Buffer([0, 0, 1], torch.int64, device)
        self.mask = Buffer([1, 0, 1], torch.bool, device)
        self.computed = torch.zeros(3, dtype=torch.int32, device=device)
        self.accepted = torch.zeros(3, dtype=torch.int32, device=device)
        self.input_ids = Buffer([0, 0, 0, 0], device=device)
        # What attention's layout is made from: two requests, of two queries and of one.
        self.query_start_loc = SimpleNamespace(np=np.array([0, 2, 3], dtype=np.int32))
        self.optimistic_seq_lens_cpu = torch.tensor([6, 7], dtype=torch.int32)
        self.input_batch = SimpleNamespace(num_reqs=2)
        # The second of them was the first of three in the step before, whose tokens only the device knows.
        self.prev_positions = SimpleNamespace(np=np.array([-1, 0], dtype=np.int64))
        self.sampled = torch.tensor([90, 91, 92], dtype=torch.int32).to(device)
        self.builder = Builder()
        self.attn_groups = [[SimpleNamespace(get_metadata_builder=lambda: self.builder)]]

    def _prepare_inputs(self, scheduler_output: object, *, ids: list[int]) -> torch.Tensor:
        self.input_ids.cpu[:3] = torch.tensor(ids)
        self.table.copy_to_gpu()
        self.rows.copy_to_gpu()
        self.mask.copy_to_gpu()
        self.accepted.fill_(1)  # waits for nothing
        self.computed[:2].copy_(torch.tensor([5, 6], dtype=torch.int32))
        positions = self.computed[self.rows.gpu] + 1
        self._prepare_input_ids(scheduler_output, 2, 3, self.query_start_loc.np[1:])
        return positions

    def _prepare_input_ids(self, scheduler_output: object, requests: int, tokens: int, ends: np.ndarray) -> None:
        self.input_ids.copy_to_gpu(tokens)
        before = self.prev_positions.np[:requests]
        there = torch.tensor((ends - 1)[before >= 0]).to(self.device, non_blocking=True)
        sampled = torch.tensor(before[before >= 0]).to(self.device, non_blocking=True)
        self.input_ids.gpu.scatter_(0, there.long(), self.sampled[sampled])


def run(runner: Runner, ids: list[int]) -> list[int]:
    positions: list[int] = runner._prepare_inputs(SimpleNamespace(total_num_scheduled_tokens=3), ids=ids).tolist()
    return positions


def test_everything_arrives() -> None:
    runner = Runner()
    install(runner)
    for ids in ([11, 12, 13], [21, 22, 23]):
        assert run(runner, ids) == [6, 6, 7]
        assert runner.table.gpu.tolist() == [7, 8, 9]
        assert runner.rows.gpu.tolist() == [0, 0, 1]
        assert runner.mask.gpu.tolist() == [True, False, True]
        assert runner.input_ids.gpu.tolist() == [*ids[:2], 90, 0], "the last is the one that was sampled"


def test_token_ids_are_prepared_again_where_they_change_after_the_others_went() -> None:
    runner = Runner()
    install(runner)
    prepare = runner._prepare_input_ids

    def late(*args: object) -> None:
        runner.prev_positions.np[:] = [2, -1]
        prepare(*args)

    runner._prepare_input_ids = late  # type: ignore[method-assign]
    run(runner, [11, 12, 13])
    assert runner.input_ids.gpu.tolist() == [11, 92, 13, 0]


def test_attention_finds_its_layout_there_for_the_batch_that_comes() -> None:
    runner = Runner()
    install(runner)
    run(runner, [11, 12, 13])
    made = runner.builder.taken(np.array([2, 1]), np.array([6, 7]))
    assert made is not None
    (one, its), (several, theirs) = made
    assert (one.requests, its.requests.tolist(), its.tokens.tolist()) == ((1,), [1, 1], [2, 2])
    assert (several.requests, theirs.requests.tolist(), theirs.tokens.tolist()) == ((0,), [0, 0], [0, 1, 0, 1])
    assert runner.builder.taken(np.array([2, 1]), np.array([6, 7])) is None, "each is for one step"


def test_attention_lays_out_another_batch_itself() -> None:
    runner = Runner()
    install(runner)
    run(runner, [11, 12, 13])
    assert runner.builder.taken(np.array([2, 1]), np.array([6, 8])) is None


def test_a_buffer_that_is_filled_anew_is_copied_as_it_was() -> None:
    there, again = torch.zeros(2, dtype=torch.int64), torch.tensor([1, 2])
    with Packed("cpu", lambda: None):
        there.copy_(again)
        again.numpy()[:] = 3
    assert there.tolist() == [1, 2]


@pytest.mark.parametrize("values", [[2**31, 0], [-(2**31) - 1, 0]])
def test_what_has_more_than_32_bits_is_copied_by_itself(values: list[int]) -> None:
    there = torch.zeros(2, dtype=torch.int64)
    with Packed("cpu", lambda: None):
        there.copy_(torch.tensor(values))
    assert there.tolist() == values


def test_other_numbers_are_copied_by_themselves() -> None:
    there = torch.zeros(2)
    with Packed("cpu", lambda: None):
        there.copy_(torch.tensor([0.5, 1.5]))
        assert there.tolist() == [0.5, 1.5]


PROGRAM = """
import accelplug
from test_native_packing import Runner, install, run

runner = Runner(str(accelplug.auto()))
for packed in (False, True):
    if packed:
        install(runner)
    before = accelplug.fallback_report().transfers.to_device_calls
    assert run(runner, [11, 12, 13]) == [6, 6, 7]
    print(accelplug.fallback_report().transfers.to_device_calls - before)
assert runner.input_ids.gpu.tolist() == [11, 12, 90, 0]
assert runner.mask.gpu.tolist() == [True, False, True]
"""


def test_the_device_counts_one_transfer(python: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    build.library()
    here = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})"
    done = python(f"{here}\n{PROGRAM}", ACCELPLUG_SIMULATE="neuron")
    assert done.stdout.split() == ["7", "1"], done.stderr
