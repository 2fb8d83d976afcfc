"""The IBM backend: what accelplug knows of Spyre cards."""

from __future__ import annotations

from accelplug.hookspecs import hookimpl
from accelplug.specs import Capabilities, CompilerSpec, Constraints, Decompositions, DeviceSpec, Kernel, Probe, RanOn
from accelplug_spyre import capabilities, constraints
from accelplug_spyre.load import load
from accelplug_spyre.probe import probe
from accelplug_spyre.visible import DEVICES
from accelplug_spyre.workers import worker_env


@hookimpl
def accelplug_device() -> DeviceSpec:
    return DeviceSpec(
        name="spyre",
        title="IBM Spyre",
        torch_type="spyre",
        priority=300,
        probe=probe,
        load=load,
        start_method="spawn",
        visible_devices=DEVICES,
        exclusive=True,
        distributed_backend="cpu:gloo,spyre:spyreccl",
        worker_env=worker_env,
        ray_resource="spyre",
        vllm_plugins=("spyre", "spyre_inference", "sendnn_inference", "spyre_next"),
        ran_on=RanOn.simulator,
    )


@hookimpl
def accelplug_decompositions() -> Decompositions:
    from accelplug_spyre.decompositions import decompositions

    return decompositions()


@hookimpl
def accelplug_compiler() -> CompilerSpec:
    """torch-spyre registers its code generator with Inductor. It rejects symbolic shapes."""
    return CompilerSpec(static_shapes=True)


@hookimpl
def accelplug_constraints(probe: Probe) -> Constraints:
    return constraints.constraints()


@hookimpl
def accelplug_capabilities(probe: Probe) -> Capabilities:
    return capabilities.capabilities()


@hookimpl
def accelplug_kernels() -> tuple[Kernel, ...]:
    from accelplug_spyre.kernels import kernels

    return kernels()
