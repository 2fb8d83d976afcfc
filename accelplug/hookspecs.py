"""What a vendor may implement. Read this file first.

A backend is a module (or any object) named by an entry point in the group ``accelplug.backends``:

    [project.entry-points."accelplug.backends"]
    acme = "accelplug_acme"

and it implements hooks:

    from accelplug.hookspecs import hookimpl
    from accelplug.specs import DeviceSpec, Host, Probe, Verdict

    def probe(host: Host) -> Probe:
        nodes = host.list("/dev", r"acme\\d+")
        if not nodes:
            return Probe(verdict=Verdict.no_hardware, reason="no /dev/acme* device node")
        return Probe(verdict=Verdict.usable, reason=f"{len(nodes)} Acme cards", count=len(nodes))

    @hookimpl
    def accelplug_device():
        return DeviceSpec(name="acme", title="Acme One", torch_type="acme", probe=probe)

Hooks are called to build tables, never on a path that runs for each operation.
"""

from __future__ import annotations

import pluggy

from accelplug.specs import DeviceSpec

PROJECT = "accelplug"
ENTRY_POINTS = "accelplug.backends"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def accelplug_device() -> DeviceSpec:  # type: ignore[empty-body]
    """The device this backend brings: its names, priority, probe, and how to make it live.

    Called once, at discovery, in every process that looks for devices. Must return at once: no file is read,
    no SDK imported. Finding hardware is the work of ``DeviceSpec.probe``.
    """
