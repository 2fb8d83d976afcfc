"""The tables of each device: built once from its backend's hooks, at first need, and the same for all threads.

A device type belongs to the backend that was made live for it in this process. Where none was (an SDK may register its
device while torch is imported), it belongs to the only backend that has that device type.
"""

from __future__ import annotations

import threading

from accelplug import settings
from accelplug.errors import AccelplugError, CompileRefusedError
from accelplug.plugins import Backend, ask, discover
from accelplug.specs import DeviceSpec, FallbackSource, StandIn
from accelplug.tables import brought, fallback, kernel_ops, scope
from accelplug.tables.device import HOOKS, DeviceTables

__all__ = ["DeviceTables", "live_names", "live_types", "make_live", "stand_in", "tables_for"]

_lock = threading.RLock()  # a hook may itself ask for tables
_live: dict[str, str] = {}
_stand_ins: dict[str, StandIn] = {}
_tables: dict[str, DeviceTables] = {}


def make_live(spec: DeviceSpec) -> None:
    """From now on the device type of ``spec`` is that backend's in this process: its kernels run, its fallbacks count.

    Raises BackendError where its hooks fail or bring what can't work, BadInputError where the settings ask what its SDK
    can't do.
    """
    with _lock:
        _live[spec.torch_type] = spec.name
        backend = _backend(spec.torch_type)
        kernels = None
        if backend is not None and backend.has(brought.HOOK):
            kernels = _tables_of(backend, spec.torch_type).kernels
            kernels.dispatch()
        fallback.begin(spec, _fallbacks(spec, backend), kernels)


def _fallbacks(spec: DeviceSpec, backend: Backend | None) -> FallbackSource | None:
    """How the device is asked: by its stand-in where it is simulated, else as its backend's hook says."""
    if spec.stand_in is not None:
        return spec.stand_in.fallbacks
    return ask(backend, "accelplug_fallbacks", FallbackSource) if backend is not None else None


def live_types() -> tuple[str, ...]:
    """The device types that a backend was made live for in this process."""
    return tuple(sorted(_live))


def live_names() -> tuple[str, ...]:
    """The backends that were made live in this process."""
    return tuple(sorted(_live.values()))


def stand_in(device_type: str, underneath: StandIn) -> None:
    """Graphs on ``device_type`` are compiled, and its kernels run, as ``underneath`` says: the simulator's way.

    Raises AccelplugError where the tables of the device are built already: graphs may have been compiled with them.
    """
    with _lock:
        if any(built.device_type == device_type for built in _tables.values()):
            raise AccelplugError(
                f"the tables of {device_type} are built already; a stand-in comes before the first graph"
            )
        _stand_ins[device_type] = underneath


def tables_for(device_type: str) -> DeviceTables | None:
    """The tables of a device type, None where it has no stand-in and its backend no hook, as the in-tree ones.

    Raises BackendError where a hook fails, CompileRefusedError where it isn't clear whose device it is.
    """
    backend = _backend(device_type)
    if backend is None or not (device_type in _stand_ins or any(map(backend.has, HOOKS))):
        return None
    return _tables_of(backend, device_type)


def _tables_of(backend: Backend, device_type: str) -> DeviceTables:
    with _lock:
        if backend.name not in _tables:
            _tables[backend.name] = DeviceTables(backend, device_type, _stand_ins.get(device_type))
        return _tables[backend.name]


def _backend(device_type: str) -> Backend | None:
    """The backend that the device type belongs to, None where there is none, or none of several has tables."""
    values = settings.read().values
    known = discover(values.backends, values.simulate)
    found = [backend for backend in known if backend.spec is not None and backend.spec.torch_type == device_type]
    if device_type in _live:
        return next((backend for backend in found if backend.name == _live[device_type]), None)
    if len(found) > 1 and any(backend.has(hook) for backend in found for hook in HOOKS):
        names = [backend.name for backend in found]
        raise CompileRefusedError(
            f"{device_type!r} is the device type of {' and '.join(names)}, which compile differently: choose one "
            f"first, with accelplug.select({names[0]!r}) or accelplug.auto()"
        )
    return found[0] if len(found) == 1 else None


def forget() -> None:
    """Forgets what was made live and built, as a test that installs backends needs."""
    with _lock:
        for built in _tables.values():
            built.kernels.release()
        scope.forget_followers()
        kernel_ops.forget()
        brought.kernels_of.cache_clear()
        _live.clear()
        _stand_ins.clear()
        _tables.clear()
        fallback.forget()
