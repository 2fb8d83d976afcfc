"""Chooses the device, arbitrates between platform plug-ins, and names vLLM's platform, once per process.

Outcomes of ``register``: the name of a delegate platform, or of the native one; None, when the platform is left to a
vendor's own plug-in or to vLLM; or the name of `refusal`'s platform, whose import stops vLLM with the reason.
"""

from __future__ import annotations

import functools
import logging
import os
from dataclasses import dataclass

from accelplug import settings, show
from accelplug.errors import AccelplugError, BadInputError
from accelplug.plugins import Backend, discover, running_backend
from accelplug.selection import AUTO, choose, require
from accelplug.specs import Candidate, DeviceSpec, Host, Selection
from accelplug_vllm import arbitration, builds, compat, handoff, request

log = logging.getLogger("vllm.accelplug")

REFUSAL = "accelplug_vllm.refusal.Refused"
NATIVE = "accelplug_vllm.native.platform"


@dataclass(frozen=True)
class Decision:
    """What this process does about vLLM's platform. One of ``platform``, ``stands_aside_for``, ``error`` is set.

    Or none: delegate mode doesn't work with this vLLM, which then picks its platform by itself.
    """

    selection: Selection | None = None
    platform: str = ""
    stands_aside_for: str = ""
    silenced: tuple[str, ...] = ()
    error: AccelplugError | None = None


@dataclass(frozen=True)
class Chosen:
    """The device that this process uses: what chose it, what its probe said, its backend and what that says of it."""

    selection: Selection
    candidate: Candidate
    backend: Backend
    spec: DeviceSpec


class ReentrantResolutionError(AccelplugError):
    """A backend asked vLLM for its current platform while accelplug was choosing it."""


def register() -> str | None:
    """The platform for this process. Never raises for what people or backends did wrong."""
    if running_backend():
        arbitration.silence(arbitration.others())
        return REFUSAL
    decision = decide()
    arbitration.silence(decision.silenced)
    return REFUSAL if decision.error else decision.platform or None


def refused() -> AccelplugError:
    """Why vLLM gets no platform from here. Raises RuntimeError where it does get one."""
    if name := running_backend():
        return ReentrantResolutionError(
            f"{name} reads vllm.platforms.current_platform (or imports a part of vLLM that does) while accelplug is "
            "choosing the platform; a backend's hooks and probe, and a plug-in's register function, must not"
        )
    error = decide().error
    if error is None:
        raise RuntimeError("accelplug refused no platform in this process")
    return error


@functools.cache
def decide() -> Decision:
    """Chooses once per process; the processes that it starts are handed the choice."""
    parent = handoff.received()
    claiming, failing = arbitration.ask()
    try:
        sourced = _settings(parent)
        allow, whose = sourced.values.backends, sourced.values.vllm_platform
        heeded = () if whose == "accelplug" else claiming
        refine = builds.refiner(Host(), heeded, allow, sourced.values.simulate)
        selection = choose(sourced, *_asked(parent), refine=refine)
        chosen = require(selection)
        aside = parent.stands_aside_for if parent else _stands_aside_for(selection, heeded, allow)
        if whose == "vendor" and not aside:
            raise _no_vendor(chosen.name, builds.vendor_plugins(chosen.name, allow), failing, sourced)
    except AccelplugError as error:
        return Decision(error=_disagreement(parent, error))
    if parent is None:
        handoff.leave(handoff.Handoff(device=chosen.name, pid=os.getpid(), stands_aside_for=aside))
    silenced = tuple(name for name in (*claiming, *failing) if name != aside)
    if aside:
        _say_aside(selection, aside, parent)
        return Decision(selection, stands_aside_for=aside, silenced=silenced)
    delegate = builds.delegate(chosen)
    if delegate and not compat.works(compat.DELEGATE):
        return Decision(selection, silenced=silenced)
    platform = f"accelplug_vllm.platform.{delegate}" if delegate else f"{NATIVE}.{chosen.name}"
    return Decision(selection, platform, silenced=silenced)


def is_native() -> bool:
    """Whether vLLM runs in native mode in this process."""
    return decide().platform.startswith(NATIVE)


def chosen() -> Chosen:
    """The chosen device. Raises the error with which `decide` refused, where it did."""
    decision = decide()
    if decision.error is not None or decision.selection is None:
        raise decision.error or RuntimeError("accelplug chose no device in this process")
    candidate = require(decision.selection)
    values = settings.read().values
    (backend,) = [b for b in discover(values.backends, values.simulate) if b.name == candidate.name]
    assert backend.spec is not None, "what is usable has a record"
    return Chosen(decision.selection, candidate, backend, backend.spec)


def _settings(parent: handoff.Handoff | None) -> settings.Sourced:
    """The settings. In a child only the device's own backend is loaded, and the parent's warnings are not repeated."""
    sourced = settings.read()
    if parent:
        return settings.Sourced(sourced.values.model_copy(update={"backends": parent.device}), sourced.sources)
    settings.warn_misspelt()
    return sourced


def _asked(parent: handoff.Handoff | None) -> tuple[str | None, str]:
    if parent:
        return parent.device, f"the server's process {parent.pid}"
    return request.from_command_line(), request.FLAG


def _disagreement(parent: handoff.Handoff | None, error: AccelplugError) -> AccelplugError:
    """In a child: the parent's device is not usable here, though it was for the parent."""
    if parent is None:
        return error
    return AccelplugError(
        f"process {parent.pid} chose {parent.device}, which its child {os.getpid()} can't use: {error}"
    )


def _stands_aside_for(selection: Selection, claiming: tuple[str, ...], allow: str) -> str:
    """The vendor's plug-in for the chosen device, or one for hardware that accelplug has no backend for; else ""."""
    for name in builds.vendor_plugins(selection.chosen or "", allow):
        if name in claiming:
            return name
    known = {name for device in selection.names() for name in builds.vendor_plugins(device, allow)}
    strangers = [name for name in claiming if name not in known]
    nothing_better = selection.requested == AUTO and selection.chosen == "cpu"
    return strangers[0] if strangers and nothing_better else ""


def _no_vendor(
    device: str, plugins: tuple[str, ...], failing: tuple[str, ...], sourced: settings.Sourced
) -> BadInputError:
    """The vendor's platform was asked for, and there is none."""
    asked = f"{sourced.sources['vllm_platform']}: vllm_platform = 'vendor'"
    otherwise = "set it to auto or accelplug"
    if not plugins:
        return BadInputError(f"{asked}: the backend of {device} names no vLLM plug-in of its vendor; {otherwise}")
    states = dict.fromkeys(plugins, "is not installed") | dict.fromkeys(arbitration.others(), "declines the platform")
    states |= dict.fromkeys(failing, "fails, see above")
    said = ", ".join(f"{arbitration.described(name)} {states[name]}" for name in plugins)
    return BadInputError(
        f"{asked}: of the vendor's vLLM plug-ins for {device}, {said}; install or repair one, or {otherwise}"
    )


def _say_aside(selection: Selection, aside: str, parent: handoff.Handoff | None) -> None:
    if parent is None:
        # A warning, because vLLM has not configured its logging yet and would drop anything less.
        log.warning(
            "accelplug: %s; vLLM's platform is left to the plug-in %s, which claims it (%s=accelplug keeps it out)",
            show.headline(selection),
            arbitration.described(aside),
            settings.variable("vllm_platform"),
        )
