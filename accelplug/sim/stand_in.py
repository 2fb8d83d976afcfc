"""Puts a simulation underneath a backend: its own probe and load run, on a machine and an SDK made from the profile."""

from __future__ import annotations

import time

from accelplug.errors import BadInputError
from accelplug.sim import compiling, fallbacks, host_call, machine, sdk
from accelplug.sim.profile import Profile
from accelplug.specs import DeviceSpec, Host, Probe, RanOn, StandIn, Verdict

SIMULATED = StandIn(
    lowered_on="cpu",
    inner_compile=compiling.inner_compile,
    on_host=host_call.on_host,
    spells_out=compiling.spells_out,
    fallbacks=fallbacks.SOURCE,
)


def beneath(spec: DeviceSpec, profile: Profile) -> DeviceSpec:
    """The backend's device, with the profile's machine and SDK in the place of the real ones.

    Raises BadInputError where that can't be: the device is PyTorch's own, or goes by another name in PyTorch.
    """
    load = spec.load
    if spec.distributed_backend:  # the vendor's own needs its hardware
        spec = spec.model_copy(update={"distributed_backend": "gloo"})
    if load is None:
        raise BadInputError(
            f"profile {profile.name!r}: {spec.title} has no SDK to stand in for, PyTorch has the device in tree; "
            "give the profile another name"
        )
    if spec.torch_type != profile.torch_type:
        raise BadInputError(
            f"profile {profile.name!r}: torch_type is {profile.torch_type!r}, but the backend's is {spec.torch_type!r}"
        )

    def probe(host: Host) -> Probe:
        time.sleep(profile.faults.probe_seconds)
        return _labelled(spec.probe(machine.host(profile, host)), profile)

    def load_on_stand_in() -> None:
        count = spec.probe(machine.host(profile, Host())).count
        with sdk.standing_in(profile, count, spec.visible_devices):
            load()

    return spec.model_copy(update={"probe": probe, "load": load_on_stand_in, "stand_in": SIMULATED})


def backend_of(profile: Profile) -> DeviceSpec:
    """The backend of a profile whose name no installed backend has: nothing of a vendor's runs, the profile is all."""

    def probe(host: Host) -> Probe:
        time.sleep(profile.faults.probe_seconds)
        number = profile.devices
        found = Probe(verdict=Verdict.usable, reason=f"{number} device{'s' * (number > 1)}", count=number)
        return _labelled(found, profile)

    def load() -> None:
        from accelplug.sim import device

        device.register(profile, profile.devices)

    return DeviceSpec(
        name=profile.name,
        title=profile.title,
        torch_type=profile.torch_type,
        probe=probe,
        load=load,
        stand_in=SIMULATED,
        ran_on=RanOn.simulator,
        distributed_backend="gloo",
    )


def _labelled(found: Probe, profile: Profile) -> Probe:
    return found.model_copy(
        update={
            "simulated": True,
            "reason": f"{found.reason}, on a machine made from profile {profile.name}",
            "evidence": (f"all of this is simulated, by profile {profile.name} ({profile.title})", *found.evidence),
        }
    )
