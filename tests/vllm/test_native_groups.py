"""The check at start that all_reduce really adds up over a group of workers."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from accelplug_vllm.native import groups

from accelplug.errors import AccelplugError
from accelplug.specs import Capabilities, Feature

Reduce = Callable[[torch.Tensor], torch.Tensor]


def check(monkeypatch: pytest.MonkeyPatch, reduce: Reduce, *, size: int = 3, **cannot: str) -> None:
    """Runs the check as rank 1 of ``size`` workers whose communicator reduces like that. Ranks give 1, 2, 1, …"""
    group: Any = SimpleNamespace(
        world_size=size, rank_in_group=1, ranks=[*range(size)], device_communicator=object(), all_reduce=reduce
    )
    monkeypatch.setattr(groups.parallel_state, "get_tp_group", lambda: group)
    monkeypatch.setattr(groups.parallel_state, "get_world_group", lambda: group)
    capabilities = Capabilities(cannot={Feature(name): reason for name, reason in cannot.items()})
    here: Any = SimpleNamespace(capabilities=capabilities, distributed_backend="acmeccl")
    groups.check_all_reduce(here, torch.device("cpu"), torch.bfloat16)


def test_a_sum_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    check(monkeypatch, lambda given: given + 2)  # what the two others give


@pytest.mark.parametrize(
    ("reduce", "got"),
    [
        (lambda given: given, "2"),
        (lambda given: given * 3, "6"),
        (lambda given: torch.cat([given[:, :64], given[:, 64:] + 2], 1), "2, 4"),
    ],
    ids=["nothing is reduced", "only its own", "half of it"],
)
def test_anything_else_stops_the_server_with_what_was_expected(
    reduce: Reduce, got: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AccelplugError) as caught:
        check(monkeypatch, reduce)
    said = str(caught.value)
    assert f"rank 1 of ranks [0, 1, 2] expected 4 everywhere and got {got};" in said
    assert "backend 'acmeccl'" in said


def test_one_worker_reduces_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    check(monkeypatch, lambda given: given - 100, size=1)


def test_a_device_that_has_collectives_in_graphs_only_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    check(monkeypatch, lambda given: given - 100, eager_collectives="they are compiled in")
