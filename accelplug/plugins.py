"""Finds backends through entry points, loads each once, and turns a failure into a verdict.

A backend that fails to import or to describe itself never hurts another one: it stays in the list, with its traceback.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import itertools
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint
from typing import TypeVar

import pluggy

from accelplug import entry_points, hookspecs
from accelplug.errors import BackendError
from accelplug.notices import warn_once
from accelplug.settings import split_names
from accelplug.specs import DeviceSpec

Answer = TypeVar("Answer")

_running: contextvars.ContextVar[str] = contextvars.ContextVar("accelplug_backend", default="")


@dataclass(frozen=True)
class Backend:
    """A backend that was found: loaded (``spec``), failed (``error``, ``cause``), or kept out by the allow-list.

    ``manager`` holds the hooks of a loaded one, and of no other backend; `ask` calls them.
    """

    name: str
    origin: str
    spec: DeviceSpec | None = None
    cause: str = ""
    error: str = ""
    allowed: bool = True
    manager: pluggy.PluginManager | None = field(default=None, repr=False, compare=False)

    def has(self, hook: str) -> bool:
        """Whether the backend implements ``hook``."""
        return self.manager is not None and bool(getattr(self.manager.hook, hook).get_hookimpls())


def ask(backend: Backend, hook: str, kind: type[Answer], **given: object) -> Answer | None:
    """What ``backend`` answers to ``hook``, called with ``given``; None where it has no such hook, or nothing to say.

    Raises BackendError, naming the backend and the hook, where that fails or returns anything but a ``kind``.
    """
    if backend.manager is None:
        return None
    whose = f"hook {hook} of backend {backend.name} ({backend.origin})"
    try:
        with running(backend.name):
            answers = getattr(backend.manager.hook, hook)(**given)
    except (Exception, SystemExit) as error:
        raise BackendError(f"{whose} failed: {type(error).__name__}: {error}") from error
    if not answers:
        return None
    if len(answers) > 1 or not isinstance(answers[0], kind):
        raise BackendError(f"{whose} must return one {kind.__name__}, got {answers!r}")
    answer: Answer = answers[0]
    return answer


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


def device_spec(name: str, allow: str = "", simulate: str = "") -> DeviceSpec:
    """The device of a backend that has loaded, by its name; ``allow`` and ``simulate`` as `discover` has them."""
    (spec,) = [backend.spec for backend in discover(allow, simulate) if backend.name == name and backend.spec]
    return spec


@functools.cache
def discover(allow: str = "", simulate: str = "") -> tuple[Backend, ...]:
    """All backends, by name. ``allow`` is the allow-list: what isn't on it is listed but never imported.

    ``simulate`` names a profile: the backend of the profile's name gets it underneath, or there is one backend more.
    """
    if simulate:
        return _with_simulation(discover(allow), simulate)
    allowed = split_names(allow)
    found: list[Backend] = []
    for name, same in itertools.groupby(entry_points.of_group(hookspecs.ENTRY_POINTS), key=lambda each: each.name):
        named = [*same]
        origins = [*map(entry_points.origin, named)]
        if allowed and name not in allowed:
            found.append(Backend(name, origins[0], allowed=False))
        elif len(named) > 1:
            cause = f"provided by {' and by '.join(origins)}; uninstall one of them"
            found.append(_failed(name, " and ".join(origins), cause, ""))
        else:
            found.append(_load(named[0]))
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


def _load(entry_point: EntryPoint) -> Backend:
    name, origin = entry_point.name, entry_points.origin(entry_point)
    try:
        with running(name):
            manager = _register(name, entry_point.load())
            spec = _describe(name, manager)
    except (Exception, SystemExit) as error:
        return _failed(name, origin, f"{type(error).__name__}: {error}", traceback.format_exc())
    return Backend(name, origin, spec, manager=manager)


def _register(name: str, plugin: object) -> pluggy.PluginManager:
    """Registers the plugin with a pluggy of its own, which checks its hooks against the specification."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(plugin, name)
    manager.check_pending()
    return manager


def _describe(name: str, manager: pluggy.PluginManager) -> DeviceSpec:
    """Asks for the backend's device."""
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
