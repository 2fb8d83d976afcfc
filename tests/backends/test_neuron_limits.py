"""What Neuron devices ask of tensors and can't do, by the generation that the probe found."""

from __future__ import annotations

import accelplug_neuron
import pytest
from neuron_machines import TRN2, TRN3, add_machine, add_software, probe
from trees import Tree

from accelplug.sim import profile
from accelplug.specs import Constraints, Feature, Probe, Verdict


def constraints(tree: Tree, instance: str, chip: tuple[str, str, str, int]) -> Constraints:
    add_machine(tree, instance, chip, 1)
    add_software(tree)
    return accelplug_neuron.accelplug_constraints(probe(tree.host()))


def test_trainium2_has_no_ocp_fp8(tree: Tree) -> None:
    assert not constraints(tree, "trn2.48xlarge", TRN2).holds("float8_e4m3fn")


def test_trainium3_has_ocps_fp8(tree: Tree) -> None:
    assert constraints(tree, "trn3.48xlarge", TRN3).holds("float8_e4m3fn")


def test_an_unknown_generation_is_taken_to_have_what_trainium2_has(tree: Tree) -> None:
    unknown = accelplug_neuron.accelplug_constraints(Probe(verdict=Verdict.usable, reason="there", count=1))
    assert unknown == constraints(tree, "trn2.48xlarge", TRN2)


def test_64_bit_numbers_are_held_in_32_bits_and_shapes_are_static(tree: Tree) -> None:
    found = constraints(tree, "trn2.48xlarge", TRN2)
    assert found.casts == {"int64": "int32", "float64": "float32"}
    assert found.static_shapes


def test_the_simulated_device_holds_what_the_constraints_of_trainium2_say(tree: Tree) -> None:
    simulated = profile.find("neuron")
    found = constraints(tree, "trn2.48xlarge", TRN2)
    assert (set(simulated.dtypes), simulated.casts) == (set(found.dtypes), found.casts)


@pytest.mark.parametrize("feature", [Feature.dynamic_shapes, Feature.lora, Feature.pipeline_parallel])
def test_what_is_missing_has_a_reason(tree: Tree, feature: Feature) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 1)
    found = accelplug_neuron.accelplug_capabilities(probe(tree.host()))
    assert len(found.cannot[feature]) > 20
    assert found.quantization == ("modelopt",)


def test_the_device_is_exclusive_and_has_a_distributed_backend() -> None:
    spec = accelplug_neuron.accelplug_device()
    assert spec.exclusive
    assert spec.distributed_backend == "cpu:gloo,neuron:neuron"
    assert spec.ray_resource == "neuron_cores"
