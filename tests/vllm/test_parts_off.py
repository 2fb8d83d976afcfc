"""Where vLLM lacks what a part of the adapter needs, that is said once, and asking for the part is an error."""

from __future__ import annotations

import types
from collections.abc import Iterator
from pathlib import Path

import pytest
from accelplug_vllm import compat, executors, handoff, resolution
from accelplug_vllm.compat import Part, Source, installed
from accelplug_vllm.native import features

from accelplug.errors import BadInputError
from accelplug.specs import Capabilities, Constraints


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A vLLM without anything in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(installed, "_source", lambda: Source([tmp_path]))
    for cache in (installed._missing, installed._say):
        cache.cache_clear()
    yield
    for cache in (installed._missing, installed._say):
        cache.cache_clear()


@pytest.mark.parametrize("part", compat.PARTS, ids=lambda part: part.name)
def test_the_reason_is_said_once(part: Part, bare: None, caplog: pytest.LogCaptureFixture) -> None:
    assert not compat.works(part)
    assert not compat.works(part)
    (record,) = caplog.records
    assert f"{part.name} is off (there is no " in record.getMessage()
    assert part.without in record.getMessage()


def test_processes_of_a_server_take_their_parents_word_and_are_quiet(
    bare: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    handoff.leave(handoff.Handoff(device="cpu", pid=1))
    compat.settle([compat.LORA])
    caplog.clear()
    monkeypatch.setattr(handoff, "received", handoff.left)  # as in a child
    assert "there is no" in compat.why_off(compat.LORA)
    assert compat.works(compat.IR), "the parent has not said that it is off"
    assert not compat.works(compat.LORA)
    assert caplog.records == []


def test_without_delegate_mode_vllm_picks_its_platform_itself(bare: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELPLUG_DEVICE", "cpu")
    assert resolution.register() is None
    assert resolution.decide().selection.chosen == "cpu"


def test_ray_is_refused_with_the_reason(bare: None) -> None:
    parallel = types.SimpleNamespace(distributed_executor_backend="ray")
    spec = types.SimpleNamespace(title="Acme", ray_resource="acme")
    with pytest.raises(BadInputError, match=r"there is no vllm.v1.executor.*; give --distributed-executor-backend mp"):
        executors.check(parallel, spec)


def test_a_request_for_structured_output_is_refused_with_the_reason(bare: None) -> None:
    here = types.SimpleNamespace(
        title="Acme",
        spec=types.SimpleNamespace(distributed_backend="gloo"),
        constraints=Constraints(),
        capabilities=Capabilities(),
    )
    with pytest.raises(ValueError, match=r"structured output: not on Acme: there is no vllm.v1.structured_output"):
        features.check_request(types.SimpleNamespace(structured_outputs="a"), here)
