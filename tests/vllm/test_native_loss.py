"""What a worker does when its device is lost in a step, and when it isn't."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from accelplug_vllm import last_words, placement
from accelplug_vllm.native import loss
from vllm.v1.outputs import AsyncModelRunnerOutput

from accelplug import device_loss
from accelplug.errors import DeviceLostError
from accelplug.specs import Worker

BROKEN = RuntimeError("NRT_EXEC_HW_ERR")


class Late(AsyncModelRunnerOutput):  # type: ignore[misc]
    def get_output(self) -> Any:
        raise BROKEN


class Upstream:
    """A worker whose steps fail at once, and whose samples fail when they are waited for."""

    device = torch.device("cpu")

    def execute_model(self, scheduler_output: Any) -> Any:
        raise BROKEN

    def sample_tokens(self, grammar_output: Any) -> Any:
        return Late()


class Watching(loss.WatchesDevice, Upstream):
    pass


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is left for the server, of a device that is lost."""
    words: list[str] = []
    monkeypatch.setattr(device_loss, "lost", lambda device, error: DeviceLostError(f"{device} is lost: {error}"))
    monkeypatch.setattr(loss.native_device, "current", lambda: SimpleNamespace(title="Acme"))
    monkeypatch.setattr(last_words, "leave", words.append)
    return words


def test_in_the_engines_process_it_is_an_error_that_says_what_to_do(left: list[str]) -> None:
    with pytest.raises(
        DeviceLostError, match=r"cpu is lost: NRT_EXEC_HW_ERR\. This server had Acme .*`accelplug devices`"
    ) as error:
        Watching().execute_model(None)
    assert error.value.__cause__ is BROKEN
    assert left == [str(error.value)]


def test_a_worker_s_own_process_ends_so_that_no_other_waits_for_it(
    left: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = placement.Placement(worker=Worker(rank=1, local_rank=1, world_size=3, device=1), index=0)
    monkeypatch.setenv(placement.VARIABLE, here.model_dump_json())
    with pytest.raises(SystemExit) as ended:
        Watching().execute_model(None)
    assert ended.value.code == 1
    assert len(left) == 1


def test_an_output_that_is_waited_for_in_another_thread_tells_too(left: list[str]) -> None:
    with pytest.raises(DeviceLostError):
        Watching().sample_tokens(None).get_output()
    assert len(left) == 1


def test_an_error_of_a_device_that_works_stays_what_it_is() -> None:
    with pytest.raises(RuntimeError) as error:
        Watching().execute_model(None)
    assert error.value is BROKEN
