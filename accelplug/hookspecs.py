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

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pluggy

from accelplug.specs import (
    AttentionSpec,
    Capabilities,
    CompilerSpec,
    Constraints,
    Decompositions,
    DeviceSpec,
    FallbackSource,
    Kernel,
    PlatformSpec,
    Probe,
)
from accelplug.specs.device import ENTRY_POINTS as ENTRY_POINTS

PROJECT = "accelplug"

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


@hookspec
def accelplug_kernels() -> Sequence[Kernel]:  # type: ignore[empty-body]
    """The kernels that this backend brings, for operators of PyTorch's and for those of `accelplug.ops`.

    Called once: when the device is made live, or when somebody asks which kernels there are. May import torch; the SDK
    is left to ``Kernel.load``. Left out: the SDK's own kernels serve, and nothing else. `docs/kernels.md` says how to
    write one.
    """


@hookspec
def accelplug_constraints(probe: Probe) -> Constraints:  # type: ignore[empty-body]
    """What the device asks of tensors: dtypes, alignment, multiples, static shapes.

    ``probe`` is what was found, for backends of several generations of a chip. Called once, when the device is made
    live, and before a model is served. Imports nothing. Left out: no constraints.
    """


@hookspec
def accelplug_capabilities(probe: Probe) -> Capabilities:  # type: ignore[empty-body]
    """What the device can't do, each with the reason that people are told.

    Called once, as accelplug_constraints is. Imports nothing. Left out: it can do everything.
    """


@hookspec
def accelplug_fallbacks() -> FallbackSource:  # type: ignore[empty-body]
    """How the SDK is asked which operators the CPU ran in the device's place.

    Called once, when the device is made live, after its SDK was loaded. Left out: fallbacks aren't counted, and the
    report says so. Not called on a simulated device, where the simulator counts.
    """


@hookspec
def accelplug_attention(attn_type: str, config: Any) -> AttentionSpec:  # type: ignore[empty-body]
    """How attention is computed on the device when vLLM runs a model on it, and how its KV cache lies in memory.

    ``attn_type`` is "decoder", "encoder", "encoder_only" or "encoder_decoder" (vLLM's ``AttentionType``), ``config``
    vLLM's ``VllmConfig``. Called once for each kind, before the model is loaded. Left out: PyTorch's operators.
    """


@hookspec
def accelplug_layers() -> Mapping[str, str | Callable[[type], type]]:  # type: ignore[empty-body]
    """The layers of vLLM's that the backend replaces, for what kernels can't express: name to replacement.

    A name is that of vLLM's class, ``"SiluAndMul"``. A replacement is a function that is given that class and returns a
    subclass of it, so that the backend needn't import vLLM; or the qualified name of a subclass. Called once in each
    worker, before the model is made. Left out: vLLM's layers, and kernels below them.
    """


@hookspec
def accelplug_platform(config: Any) -> PlatformSpec:  # type: ignore[empty-body]
    """The parts of vLLM that the vendor brings in the place of accelplug's.

    ``config`` is vLLM's ``VllmConfig``. Called when vLLM checks its configuration, possibly several times. Left out:
    accelplug's parts.
    """
