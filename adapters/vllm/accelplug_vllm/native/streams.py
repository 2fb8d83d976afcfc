"""Streams and events of the device for vLLM's V1 runner, which asks ``torch.cuda`` for them.

The runner's module, and no other, gets a ``torch`` whose ``cuda`` has the device's. ``torch.cuda`` stays what it is.
"""

from __future__ import annotations

import contextlib
import types
from typing import Any

import torch


def install(device_type: str) -> None:
    """Does that in this process, once. See compat: "runner.streams"."""
    from vllm.v1.worker import gpu_model_runner

    if not isinstance(gpu_model_runner.torch, _TorchForDevice):
        gpu_model_runner.torch = _TorchForDevice(device_type)


class _TorchForDevice(types.ModuleType):
    """torch, with another ``cuda``."""

    def __init__(self, device_type: str) -> None:
        super().__init__(torch.__name__)
        self.__dict__.update(vars(torch))
        self.cuda = _DeviceStreams(device_type)

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)  # what torch itself loads late


class _DeviceStreams(types.ModuleType):
    """``torch.cuda``, with the device's streams and events."""

    def __init__(self, device_type: str) -> None:
        super().__init__(torch.cuda.__name__)
        self._device_type = device_type

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.cuda, name)

    def Stream(self, device: Any = None, **options: Any) -> torch.Stream:  # noqa: N802
        return torch.Stream(device=device or self._device_type, **options)

    def Event(self, **options: Any) -> torch.Event:  # noqa: N802
        return torch.Event(device=self._device_type, **options)

    def current_stream(self, device: Any = None) -> torch.Stream:
        return torch.accelerator.current_stream(device)

    def stream(self, stream: torch.Stream | None) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext() if stream is None else stream
