"""Acme's accelerator for accelplug: one probe and one hook."""

from __future__ import annotations

from accelplug.hookspecs import hookimpl
from accelplug.specs import DeviceSpec, Host, Probe, Verdict


def probe(host: Host) -> Probe:
    """Usable where there is a /dev/acme<N> that this user may open. ACME_DEV names another folder than /dev."""
    nodes = host.list(host.environ.get("ACME_DEV", "/dev"), r"acme\d+")
    if not nodes:
        return Probe(verdict=Verdict.no_hardware, reason="no /dev/acme<N> device node")
    if not host.may_open(nodes[0]):
        return Probe(
            verdict=Verdict.no_driver,
            reason=f"no permission to open {nodes[0]}",
            remedy="add this user to the group `acme`",
        )
    return Probe(verdict=Verdict.usable, reason=f"{len(nodes)} Acme cards", count=len(nodes))


@hookimpl
def accelplug_device() -> DeviceSpec:
    return DeviceSpec(name="acme", title="Acme One", torch_type="cpu", priority=900, probe=probe)
