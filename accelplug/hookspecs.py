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

from accelplug.specs import CompilerSpec, Decompositions, DeviceSpec

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


@hookspec
def accelplug_decompositions() -> Decompositions:  # type: ignore[empty-body]
    """How graphs on this device are taken apart: changes to PyTorch's decomposition table, and lowerings.

    Called once, when the device's tables are built: at the first graph that is compiled on the device. May import
    torch, and the SDK. Left out: PyTorch's own table serves. `docs/decompositions.md` says how to write one.
    """


@hookspec
def accelplug_compiler() -> CompilerSpec:  # type: ignore[empty-body]
    """What compiles graphs on this device: a Dynamo backend, its options, and whether shapes must be static.

    Called once, when the device's tables are built. May import torch, and the SDK. Left out: PyTorch's Inductor.
    """
