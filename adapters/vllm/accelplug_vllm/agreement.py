"""Checks a device that is asked for late (a parsed flag, ``LLM(device=…)``) against the platform vLLM already has."""

from __future__ import annotations

from accelplug import settings
from accelplug.errors import BadInputError
from accelplug.selection import choose, require
from accelplug.specs import Host
from accelplug_vllm import builds, request, resolution


def check(device: str, asked_by: str) -> None:
    """Raises UnknownDeviceError, DeviceUnusableError, or BadInputError where the platform is another device's."""
    decision = resolution.decide()
    active, claiming = decision.selection, (decision.stands_aside_for,)
    sourced = settings.read()
    refine = builds.refiner(Host(), claiming, sourced.values.backends, sourced.values.simulate)
    asked = require(choose(sourced, device, asked_by, refine=refine))
    if active is not None and asked.name != active.chosen:
        raise BadInputError(
            f"{asked_by} {device} asks for {asked.name}, but vLLM's platform in this process is {active.chosen} "
            f"(decided by {active.decided_by}) and can't change; "
            f"set {request.VARIABLE}={asked.name} before vLLM is imported"
        )
