"""The AWS backend: what accelplug knows of Neuron devices (Trainium, and Inferentia to say why not)."""

from __future__ import annotations

from accelplug.hookspecs import hookimpl
from accelplug.specs import (
    Capabilities,
    CompilerSpec,
    Constraints,
    Decompositions,
    DeviceSpec,
    FallbackSource,
    Kernel,
    Probe,
    RanOn,
)
from accelplug_neuron import limits, software
from accelplug_neuron.cores import VISIBLE_CORES
from accelplug_neuron.load import load
from accelplug_neuron.probe import probe
from accelplug_neuron.workers import worker_env


@hookimpl
def accelplug_device() -> DeviceSpec:
    return DeviceSpec(
        name="neuron",
        title="AWS Neuron (Trainium)",
        torch_type="neuron",
        priority=400,
        probe=probe,
        load=load,
        start_method="spawn",
        visible_devices=VISIBLE_CORES,
        exclusive=True,
        distributed_backend="cpu:gloo,neuron:neuron",
        worker_env=worker_env,
        ray_resource="neuron_cores",
        vllm_plugins=("neuron", "optimum_neuron"),
        ran_on=RanOn.simulator,
    )


@hookimpl
def accelplug_decompositions() -> Decompositions:
    from accelplug_neuron.decompositions import decompositions

    return decompositions()


@hookimpl
def accelplug_compiler() -> CompilerSpec:
    """The SDK registers the Dynamo backend ``neuron``. It rejects symbolic shapes."""
    return CompilerSpec(backend="neuron", static_shapes=True, cache_key=software.compiler_versions())


@hookimpl
def accelplug_kernels() -> tuple[Kernel, ...]:
    from accelplug_neuron.kernels import kernels

    return kernels()


@hookimpl
def accelplug_constraints(probe: Probe) -> Constraints:
    return limits.constraints(probe)


@hookimpl
def accelplug_capabilities(probe: Probe) -> Capabilities:
    return limits.capabilities()


@hookimpl
def accelplug_fallbacks() -> FallbackSource:
    from accelplug_neuron.fallbacks import source

    return source()
