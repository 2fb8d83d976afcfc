"""The workers of a simulated device share the host's cores."""

from __future__ import annotations

import multiprocessing
import os
from types import SimpleNamespace

import pytest
from accelplug_vllm import openmp, preload
from accelplug_vllm.native import host_cores

THREADS = openmp.THREADS


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight cores and nothing set. What is set is undone after the test."""
    monkeypatch.setenv(THREADS, "")
    monkeypatch.delenv(THREADS)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    monkeypatch.setattr(openmp, "wait_policy", list)
    monkeypatch.setattr(preload, "allocator", list)


def parallel(workers: int = 1, copies: int = 1) -> SimpleNamespace:
    return SimpleNamespace(local_world_size=workers, data_parallel_size_local=copies)


@pytest.mark.parametrize(
    ("workers", "copies", "each"), [(1, 1, "8"), (3, 1, "2"), (2, 2, "2"), (16, 1, "1"), (1, 0, "8")]
)
def test_each_worker_has_its_share(workers: int, copies: int, each: str) -> None:
    assert host_cores.share(parallel(workers, copies)) == [f"{each} of 8 cores for each simulated device"]
    assert os.environ[THREADS] == each
    assert host_cores.share(parallel(workers, copies)) == [], "vLLM asks several times"


def test_a_number_of_ones_own_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS, "3")
    assert host_cores.share(parallel()) == []
    assert os.environ[THREADS] == "3"


def test_it_can_be_left_to_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELPLUG_CPU_DEFAULTS", "off")
    assert host_cores.share(parallel()) == []
    assert THREADS not in os.environ


def test_only_the_process_that_starts_the_others_sets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: object())
    assert host_cores.share(parallel()) == []
    assert THREADS not in os.environ
