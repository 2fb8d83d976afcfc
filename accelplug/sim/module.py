"""``torch.<name>`` of the simulated device: what ``torch.accelerator``, autocast, RNG and the profiler ask it."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from typing import Any

import torch

from accelplug.sim.profile import Profile

UNLIMITED = 1 << 40  # what a device without a memory limit says it has, as csrc/allocator.cpp


class DeviceModule(types.ModuleType):
    """The module. ``device`` arguments are an index, a ``torch.device``, its text, or None for the current one."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(f"torch.{profile.torch_type}", f"{profile.title}: simulated by accelplug.")
        self._profile = profile
        self._name = profile.torch_type
        ops = torch.ops.accelplug_sim
        self._count = ops.device_count.default
        self._current = ops.current_device.default
        self._exchange = ops.exchange_device.default
        self._generator = ops.default_generator.default
        self.device = type("device", (_OnDevice,), {"_module": self, "__doc__": _OnDevice.__doc__})

    # Devices

    def is_available(self) -> bool:
        return self.device_count() > 0

    def is_initialized(self) -> bool:
        return True

    def init(self) -> None:
        """There is nothing to start."""

    _lazy_init = init

    def _is_in_bad_fork(self) -> bool:
        return False  # there is no runtime that a fork could break; accelplug's own guard still says spawn

    def device_count(self) -> int:
        return int(self._count())

    def current_device(self) -> int:
        return int(self._current())

    def set_device(self, device: Any) -> None:
        self._exchange(self._index(device))

    def _exchange_device(self, index: int) -> int:
        return int(self._exchange(index)) if index >= 0 else -1

    _maybe_exchange_device = _exchange_device

    def synchronize(self, device: Any = None) -> None:
        """Work runs at once, so there is nothing to wait for; the device must be there."""
        self._index(device)

    def get_device_name(self, device: Any = None) -> str:
        return str(self.get_device_properties(device).name)

    def get_device_capability(self, device: Any = None) -> dict[str, Any]:
        return dict(torch.accelerator.get_device_capability(self._index(device)))

    def get_device_properties(self, device: Any = None) -> types.SimpleNamespace:
        self._index(device)
        return types.SimpleNamespace(
            name=self._profile.title,
            total_memory=self._profile.memory_bytes or UNLIMITED,
            alignment_bytes=self._profile.alignment_bytes,
            simulated=True,
        )

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [getattr(torch, name) for name in ("float16", "bfloat16") if self._profile.holds(name)]

    def is_bf16_supported(self, including_emulation: bool = True) -> bool:
        return self._profile.holds("bfloat16")

    # Random numbers

    @property
    def default_generators(self) -> tuple[torch.Generator, ...]:
        return tuple(self._generator(index) for index in range(self.device_count()))

    def manual_seed(self, seed: int) -> None:
        self._generator(self.current_device()).manual_seed(int(seed))

    def manual_seed_all(self, seed: int) -> None:
        for generator in self.default_generators:
            generator.manual_seed(int(seed))

    def seed(self) -> int:
        return int(self._generator(self.current_device()).seed())

    def seed_all(self) -> None:
        self.manual_seed_all(self.seed())

    def initial_seed(self) -> int:
        return int(self._generator(self.current_device()).initial_seed())

    def get_rng_state(self, device: Any = None) -> torch.Tensor:
        return self._generator(self._index(device)).get_state()

    def set_rng_state(self, new_state: torch.Tensor, device: Any = None) -> None:
        self._generator(self._index(device)).set_state(new_state)

    def get_rng_state_all(self) -> list[torch.Tensor]:
        return [generator.get_state() for generator in self.default_generators]

    def set_rng_state_all(self, new_states: list[torch.Tensor]) -> None:
        for generator, state in zip(self.default_generators, new_states, strict=True):
            generator.set_state(state)

    # Streams and events

    def Stream(self, device: Any = None, **options: Any) -> torch.Stream:  # noqa: N802
        return torch.Stream(device=self._named(device), **options)

    def Event(self, enable_timing: bool = False, **options: Any) -> torch.Event:  # noqa: N802
        return torch.Event(device=self._name, enable_timing=enable_timing, **options)

    def current_stream(self, device: Any = None) -> torch.Stream:
        return torch.accelerator.current_stream(self._named(device))

    def set_stream(self, stream: torch.Stream) -> None:
        torch.accelerator.set_stream(stream)

    @contextlib.contextmanager
    def stream(self, stream: torch.Stream) -> Iterator[torch.Stream]:
        before = torch.accelerator.current_stream()
        torch.accelerator.set_stream(stream)
        try:
            yield stream
        finally:
            torch.accelerator.set_stream(before)

    # Memory

    memory_allocated = staticmethod(torch.accelerator.memory_allocated)
    max_memory_allocated = staticmethod(torch.accelerator.max_memory_allocated)
    memory_reserved = staticmethod(torch.accelerator.memory_reserved)
    max_memory_reserved = staticmethod(torch.accelerator.max_memory_reserved)
    memory_stats = staticmethod(torch.accelerator.memory_stats)
    reset_peak_memory_stats = staticmethod(torch.accelerator.reset_peak_memory_stats)
    reset_accumulated_memory_stats = staticmethod(torch.accelerator.reset_accumulated_memory_stats)
    empty_cache = staticmethod(torch.accelerator.empty_cache)

    def mem_get_info(self, device: Any = None) -> tuple[int, int]:
        """Bytes that are free, and bytes in all."""
        free, total = torch.accelerator.get_memory_info(self._index(device))
        return int(free), int(total)

    def _index(self, device: Any) -> int:
        if device is None:
            return self.current_device()
        if not isinstance(device, int):
            named = torch.device(device)
            if named.type != self._name:
                raise ValueError(f"device {device!r} is not a {self._name} device")
            device = self.current_device() if named.index is None else named.index
        if not 0 <= device < self.device_count():
            raise ValueError(f"there is no {self._name}:{device}: there are {self.device_count()}, counted from 0")
        return int(device)

    def _named(self, device: Any) -> str:
        return f"{self._name}:{self._index(device)}"


class _OnDevice:
    """``with torch.<name>.device(1):`` makes that device the current one inside."""

    _module: DeviceModule

    def __init__(self, device: Any) -> None:
        self.idx = self._module._index(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = self._module._exchange_device(self.idx)

    def __exit__(self, *error: object) -> None:
        self._module._exchange_device(self.prev_idx)
