"""The CPU: always usable, always last."""

from __future__ import annotations

from accelplug.hookspecs import hookimpl
from accelplug.specs import DeviceSpec, Host, Probe, RanOn, Verdict


def probe(host: Host) -> Probe:
    """Usable wherever torch is installed."""
    version = host.version("torch")
    if version is None:
        return Probe(verdict=Verdict.no_software, reason="torch is not installed", remedy="pip install torch")
    return Probe(
        verdict=Verdict.usable,
        reason="always there",
        count=1,
        details={"torch": version, "architecture": host.machine},
    )


@hookimpl
def accelplug_device() -> DeviceSpec:
    return DeviceSpec(
        name="cpu",
        title="CPU",
        torch_type="cpu",
        priority=0,
        probe=probe,
        start_method="fork",
        distributed_backend="gloo",
        ray_resource="CPU",
        vllm_plugins=("pace",),
        ran_on=RanOn.hardware,
    )
