"""The AWS backend: what accelplug knows of Neuron devices (Trainium, and Inferentia to say why not)."""

from __future__ import annotations

from accelplug.hookspecs import hookimpl
from accelplug.specs import CompilerSpec, Decompositions, DeviceSpec, FallbackSource, RanOn
from accelplug_neuron.cores import VISIBLE_CORES
from accelplug_neuron.load import load
from accelplug_neuron.probe import probe


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
    return CompilerSpec(backend="neuron", static_shapes=True)


@hookimpl
def accelplug_fallbacks() -> FallbackSource:
    from accelplug_neuron.fallbacks import source

    return source()
