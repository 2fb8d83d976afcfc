"""All tables of one device, built once from its backend's hooks."""

from __future__ import annotations

import functools
import threading

from accelplug import probing, settings
from accelplug.plugins import Backend, ask
from accelplug.specs import CompilerSpec, Constraints, Decompositions, Host, StandIn
from accelplug.tables import scope
from accelplug.tables.decompositions import Table, build
from accelplug.tables.kernels import KernelTable

HOOKS = ("accelplug_decompositions", "accelplug_compiler", "accelplug_constraints", "accelplug_kernels")


class DeviceTables:
    """What compiles graphs on ``device_type``, how they are taken apart, what it asks of tensors, and its kernels."""

    def __init__(self, backend: Backend, device_type: str, stand_in: StandIn | None = None) -> None:
        """Asks the hooks. Raises BackendError, naming the backend, where that fails."""
        self.device_type = device_type
        self.compiler = ask(backend, "accelplug_compiler", CompilerSpec) or CompilerSpec()
        self._changes = ask(backend, "accelplug_decompositions", Decompositions) or Decompositions()
        self.inner_compile = stand_in.inner_compile if stand_in else None
        self._backend = backend
        self._origin = backend.origin
        self._lowered_on = stand_in.lowered_on if stand_in else device_type
        self._lock = threading.Lock()
        self._built: dict[tuple[bool, int], Table] = {}
        self.kernels = KernelTable(backend, device_type, stand_in)
        self.kernels.define()

    @functools.cached_property
    def constraints(self) -> Constraints:
        """What the device asks of tensors. Runs its probe, at the first call."""
        if not self._backend.has("accelplug_constraints"):
            return Constraints()
        found = probing.probe(self._backend, settings.read().values, Host()).probe
        return ask(self._backend, "accelplug_constraints", Constraints, probe=found) or Constraints()

    def decompositions(self, fallback_random: bool | None = None) -> Table:
        """The decomposition table for the scope of kernels that this thread is in, built once. Imports Inductor.

        PyTorch has two tables: with ``fallback_random`` the random operators stay whole. None is what Inductor's
        configuration says.
        """
        from torch._inductor import config

        wanted = config.fallback_random if fallback_random is None else fallback_random
        state = scope.current()
        with self._lock, config.patch(fallback_random=wanted):
            if (wanted, state) not in self._built:
                self._built[wanted, state] = build(
                    self.device_type,
                    self._changes,
                    origin=self._origin,
                    cache_key=f"{self.compiler.cache_key} {self.constraints.clone_offset}",
                    lowered_on=self._lowered_on,
                    kernels=self.kernels,
                    state=scope.state(state),
                )
            return self._built[wanted, state]
