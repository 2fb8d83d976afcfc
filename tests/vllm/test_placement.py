"""What a worker process finds in its environment, and which device it takes."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import accelplug_neuron
import pytest
from accelplug_vllm import handoff, placement

from accelplug.builtin import cpu
from accelplug.specs import DeviceSpec, Probe, Worker

SECOND = Worker(rank=1, local_rank=1, world_size=3, device=1)


def parallel(**options: Any) -> Any:
    """The part of vLLM's ParallelConfig that says where a worker is."""
    usual = {"assigned_physical_gpu_ids": None, "data_parallel_rank_local": None, "local_world_size": 2}
    return SimpleNamespace(**{**usual, **options})


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEURON_RT_VISIBLE_CORES", raising=False)
    monkeypatch.setenv(placement.VARIABLE, "")  # so that what a test sets is taken away after it
    monkeypatch.delenv(placement.VARIABLE)


def test_a_worker_that_sees_its_device_alone_takes_the_first() -> None:
    given = placement.environment(accelplug_neuron.accelplug_device(), SECOND)
    assert given["NEURON_RT_VISIBLE_CORES"] == "1"
    with placement.environ(given):
        assert placement.received() == placement.Placement(worker=SECOND, index=0)


def test_a_worker_that_sees_all_devices_takes_the_one_at_its_place() -> None:
    given = placement.environment(cpu.accelplug_device(), SECOND)
    assert [*given] == [placement.VARIABLE], "the backend wants nothing in it"
    with placement.environ(given):
        assert placement.received() == placement.Placement(worker=SECOND, index=1)


def test_a_variable_that_limits_nothing_leaves_the_place() -> None:
    spec = DeviceSpec(
        name="acme",
        title="Acme",
        torch_type="acme",
        probe=lambda host: Probe(verdict="usable", reason="there"),
        worker_env=lambda worker: {"ACME_RANK": str(worker.rank)},
        visible_devices="ACME_VISIBLE",
    )
    given = placement.environment(spec, SECOND)
    assert given["ACME_RANK"] == "1"
    assert placement.Placement.model_validate_json(given[placement.VARIABLE]).index == 1


def test_the_environment_is_as_before_after_the_worker_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERE_BEFORE", "a")
    before = dict(os.environ)
    with placement.environ({"HERE_BEFORE": "b", "NOT_HERE": "c"}):
        assert (os.environ["HERE_BEFORE"], os.environ["NOT_HERE"]) == ("b", "c")
    assert dict(os.environ) == before


def test_a_copy_of_a_model_has_the_devices_that_vllm_gave_it() -> None:
    assert placement.device_of(parallel(), 1) == 1
    assert placement.device_of(parallel(assigned_physical_gpu_ids=[2, 3]), 1) == 3
    assert placement.device_of(parallel(data_parallel_rank_local=1), 1) == 3, "a server for each copy"


def test_a_process_that_was_started_as_a_worker_takes_over_the_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray starts workers, and not multiprocessing, which `handoff` could ask for the parent."""
    handoff.leave(handoff.Handoff(device="neuron", pid=1))
    assert handoff.received() is None
    with placement.environ(placement.environment(cpu.accelplug_device(), SECOND)):
        received = handoff.received()
    assert received is not None
    assert received.device == "neuron"
