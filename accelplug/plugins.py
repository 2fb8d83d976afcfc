"""Finds backends through entry points, loads each once, and turns a failure into a verdict.

A backend that fails to import or to describe itself never hurts another one: it stays in the list, with its traceback.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import metadata

import pluggy

from accelplug import hookspecs
from accelplug.notices import warn_once
from accelplug.settings import split_names
from accelplug.specs import DeviceSpec

_running: contextvars.ContextVar[str] = contextvars.ContextVar("accelplug_backend", default="")


@dataclass(frozen=True)
class Backend:
    """A backend that was found: loaded (``spec``), failed (``error``, ``cause``), or kept out by the allow-list."""

    name: str
    origin: str
    spec: DeviceSpec | None = None
    cause: str = ""
    error: str = ""
    allowed: bool = True


def running_backend() -> str:
    """The backend whose code is being run right now in this context, "" if none."""
    return _running.get()


@contextlib.contextmanager
def running(name: str) -> Iterator[None]:
    """Marks the code inside as backend ``name``'s, so that what it breaks can be named."""
    token = _running.set(name)
    try:
        yield
    finally:
        _running.reset(token)


@functools.cache
def discover(allow: str = "", simulate: str = "") -> tuple[Backend, ...]:
    """All backends, by name. ``allow`` is the allow-list: what isn't on it is listed but never imported.

    ``simulate`` names a profile: the backend of the profile's name gets it underneath, or there is one backend more.
    """
    if simulate:
        return _with_simulation(discover(allow), simulate)
    allowed = split_names(allow)
    found: list[Backend] = []
    for name, entry_points in _entry_points().items():
        origins = [_origin(entry_point) for entry_point in entry_points]
        if allowed and name not in allowed:
            found.append(Backend(name, origins[0], allowed=False))
        elif len(entry_points) > 1:
            cause = f"provided by {' and by '.join(origins)}; uninstall one of them"
            found.append(_failed(name, " and ".join(origins), cause, ""))
        else:
            found.append(_load(entry_points[0]))
    return tuple(found)


def _with_simulation(found: tuple[Backend, ...], simulate: str) -> tuple[Backend, ...]:
    from accelplug.sim import profile, stand_in  # only where something is simulated

    simulated = profile.find(simulate)
    if all(backend.name != simulated.name for backend in found):
        return (*found, Backend(simulated.name, f"profile {simulate}", stand_in.backend_of(simulated)))
    return tuple(
        replace(backend, spec=stand_in.beneath(backend.spec, simulated))
        if backend.name == simulated.name and backend.spec
        else backend
        for backend in found
    )


def _entry_points() -> dict[str, list[metadata.EntryPoint]]:
    """Entry points by name. A distribution that is on the path twice counts once, as importlib.metadata has it."""
    by_name: dict[str, list[metadata.EntryPoint]] = {}
    for entry_point in metadata.entry_points(group=hookspecs.ENTRY_POINTS):
        by_name.setdefault(entry_point.name, []).append(entry_point)
    return dict(sorted(by_name.items()))


def _load(entry_point: metadata.EntryPoint) -> Backend:
    name, origin = entry_point.name, _origin(entry_point)
    try:
        with running(name):
            spec = _describe(name, entry_point.load())
    except (Exception, SystemExit) as error:
        return _failed(name, origin, f"{type(error).__name__}: {error}", traceback.format_exc())
    return Backend(name, origin, spec)


def _describe(name: str, plugin: object) -> DeviceSpec:
    """Registers the plugin with pluggy, which checks its hooks against the specification, and asks for its device."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(plugin, name)
    manager.check_pending()
    specs = manager.hook.accelplug_device()
    if len(specs) != 1 or not isinstance(specs[0], DeviceSpec):
        raise TypeError(f"hook accelplug_device must return one DeviceSpec, got {specs!r}")
    spec: DeviceSpec = specs[0]
    if spec.name != name:
        raise ValueError(f"the entry point is named {name!r} but the device {spec.name!r}; they must be equal")
    return spec


def _failed(name: str, origin: str, cause: str, error: str) -> Backend:
    warn_once(f"backend {name} ({origin}) is broken and left out: {cause}")
    return Backend(name, origin, cause=cause, error=error)


def _origin(entry_point: metadata.EntryPoint) -> str:
    return f"{entry_point.dist.name} {entry_point.dist.version}" if entry_point.dist else entry_point.value
