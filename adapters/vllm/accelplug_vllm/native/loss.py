"""What a worker does when its device is lost: it says so to the server, once, and ends."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import torch
from vllm.v1.outputs import AsyncModelRunnerOutput

from accelplug import device_loss
from accelplug.errors import DeviceLostError
from accelplug_vllm import last_words, placement
from accelplug_vllm.native import device as native_device

log = logging.getLogger("vllm.accelplug")


class WatchesDevice:
    """Put before a worker's class. Asks the device after an error in a step, and nothing otherwise."""

    device: torch.device

    def execute_model(self, scheduler_output: Any) -> Any:
        """As upstream's."""
        with _a_process_of_its_own_ends(), _watching(self.device):
            return super().execute_model(scheduler_output)  # type: ignore[misc]

    def sample_tokens(self, grammar_output: Any) -> Any:
        """As upstream's."""
        with _a_process_of_its_own_ends(), _watching(self.device):
            output = super().sample_tokens(grammar_output)  # type: ignore[misc]
        return _Watched(output, self.device) if isinstance(output, AsyncModelRunnerOutput) else output


class _Watched(AsyncModelRunnerOutput):  # type: ignore[misc]
    """An output that is waited for later, where a device that works asynchronously says what went wrong."""

    def __init__(self, output: Any, device: torch.device) -> None:
        self._output = output
        self._device = device

    def get_output(self) -> Any:
        with _watching(self._device):
            return self._output.get_output()

    def get_kv_connector_output(self) -> Any:
        """What vLLM asks an output for since 0.33."""
        return self._output.get_kv_connector_output()


@contextlib.contextmanager
def _watching(device: torch.device) -> Iterator[None]:
    """Raises DeviceLostError for an error that means it, and leaves its words for the server."""
    try:
        yield
    except Exception as error:
        loss = device_loss.lost(device, error)
        if loss is None:
            raise
        title = native_device.current().title
        words = (
            f"{loss}. This server had {title} and ends; requests that were under way can be sent again. See with "
            "`accelplug devices` whether the device is back, and start the server again, with --device for another one"
        )
        last_words.leave(words)
        raise DeviceLostError(words) from error


@contextlib.contextmanager
def _a_process_of_its_own_ends() -> Iterator[None]:
    """A worker's process would log the error and wait for the next step, and the others would wait for it in theirs.
    vLLM notices a process that ends at once."""
    try:
        yield
    except DeviceLostError as error:
        if placement.received() is None:  # EngineCore's process, which ends as vLLM wants it
            raise
        log.error("accelplug: %s", error)
        raise SystemExit(1) from error
