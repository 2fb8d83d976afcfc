"""Which machines have a usable Neuron device, and how their sysfs is read.

On folders that look like machines; nothing here has seen the hardware.
"""

from __future__ import annotations

import pytest
from accelplug_neuron import generations
from neuron_machines import INF2, SYSFS, TRN1, TRN2, TRN3, add_machine, add_software, probe
from trees import Tree

from accelplug.specs import Verdict


@pytest.mark.parametrize(
    ("instance", "chip", "devices", "count"),
    [("trn2.48xlarge", TRN2, 16, 64), ("trn2u.48xlarge", TRN2, 16, 64), ("trn3.48xlarge", TRN3, 16, 64)],
)
def test_native_generations_are_usable_with_two_physical_cores_in_a_logical_one(
    tree: Tree, instance: str, chip: tuple[str, str, str, int], devices: int, count: int
) -> None:
    add_machine(tree, instance, chip, devices)
    add_software(tree)
    found = probe(tree.host())
    assert (found.verdict, found.count) == (Verdict.usable, count)
    assert found.reason == f"{devices} {chip[0].lower()} devices, {count} logical cores (LNC 2)"
    assert found.remedy == ""


@pytest.mark.parametrize(
    ("instance", "chip"), [("trn1.32xlarge", TRN1), ("trn1n.32xlarge", TRN1), ("inf2.48xlarge", INF2)]
)
def test_older_generations_have_no_native_device_whatever_is_installed(
    tree: Tree, instance: str, chip: tuple[str, str, str, int]
) -> None:
    add_machine(tree, instance, chip, 16)
    add_software(tree)
    found = probe(tree.host())
    assert found.verdict is Verdict.no_software
    assert f"{chip[0].lower()} has no native PyTorch device" in found.reason
    assert "trn2 and trn3" in found.remedy
    assert found.details["logical_nc"] == "1"


def test_details_say_what_the_machine_is(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 2)
    add_software(tree)
    assert probe(tree.host()).details == {
        "generation": "trn2",
        "instance_type": "trn2.48xlarge",
        "devices": "2",
        "cores_per_device": "8",
        "logical_nc": "2",
        "driver": "2.30.1.0",
        "connected_devices": "0: 1, 1; 1: 0, 0",
        "torch": "2.13.0",
        "torch-neuronx": "2.13.3.0",
    }


def test_evidence_says_what_was_looked_at_and_what_was_found(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    add_software(tree)
    evidence = probe(tree.host({"NEURON_RT_NUM_CORES": "8"})).evidence
    assert "/dev/neuron<N>: /dev/neuron0 … /dev/neuron15 (16)" in evidence
    assert "DMI product name: trn2.48xlarge" in evidence
    assert f"generation: trn2 (from {SYSFS}/neuron0/info/architecture/instance_type)" in evidence
    assert f"physical cores in a device: 8 (from {SYSFS}/neuron0/core_count)" in evidence
    assert "entry point torch_neuronx in torch.backends: yes" in evidence
    assert "NEURON_RT_NUM_CORES='8'" in evidence


def test_a_machine_without_anything_is_no_hardware_and_gets_no_remedy(tree: Tree) -> None:
    found = probe(tree.host())
    assert (found.verdict, found.remedy) == (Verdict.no_hardware, "")


def test_software_without_a_device_is_no_hardware_and_gets_no_remedy(tree: Tree) -> None:
    add_software(tree)
    tree.file("/sys/devices/virtual/dmi/id/product_name", "m7i.large")
    found = probe(tree.host())
    assert (found.verdict, found.remedy) == (Verdict.no_hardware, "")
    assert "torch-neuronx 2.13.3.0 is installed, but" in found.reason


def test_nodes_with_other_names_are_no_neuron_devices(tree: Tree) -> None:
    for name in ("neuron", "neuron_misc", "neuron0p1", "xneuron0"):
        tree.node(f"/dev/{name}")
    assert probe(tree.host()).verdict is Verdict.no_hardware


@pytest.mark.parametrize(
    ("instance", "generation"),
    [
        ("inf1.xlarge", "inf1"),
        ("inf2.8xlarge", "inf2"),
        ("trn1n.32xlarge", "trn1"),
        ("trn2u-ac.24xlarge", "trn2"),
        ("trn3-dev0.48xlarge", "trn3"),
        ("Trn2", "trn2"),
        ("p5.48xlarge", ""),
        ("trnx.large", ""),
        ("trn2000 Desktop", ""),
        ("", ""),
    ],
)
def test_instance_types_tell_their_generation(instance: str, generation: str) -> None:
    assert generations.from_instance_type(instance) == generation


# sysfs layouts


def test_the_class_folder_serves_where_the_virtual_one_is_gone(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 4, root="/sys/class/neuron_device")
    add_software(tree)
    assert probe(tree.host()).count == 16


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("info/architecture/instance_type", "Trn2"),
        ("info/architecture/device_name", "Trainium2"),
        ("neuron_core0/info/architecture/arch_type", "NCv3"),
        ("architecture/instance_type", "trn2.48xlarge"),
        ("info/device_name", "Trainium2"),
    ],
)
def test_any_one_file_tells_the_generation(tree: Tree, path: str, text: str) -> None:
    tree.node("/dev/neuron0")
    tree.file(f"{SYSFS}/neuron0/{path}", text)
    add_software(tree)
    found = probe(tree.host())
    assert (found.details["generation"], found.count) == ("trn2", 4)


def test_the_devices_own_architecture_decides_nothing_since_two_generations_share_it(tree: Tree) -> None:
    tree.node("/dev/neuron0")
    tree.file(f"{SYSFS}/neuron0/info/architecture/arch_type", "NDv3")  # inf2 and trn2
    tree.file(f"{SYSFS}/neuron0/neuron_core0/info/architecture/arch_type", "NCv2")
    add_software(tree)
    assert probe(tree.host()).details["generation"] == "trn1/inf2"


def test_the_cores_of_an_unknown_generation_are_counted_by_folder(tree: Tree) -> None:
    tree.node("/dev/neuron0")
    tree.file("/sys/devices/virtual/dmi/id/product_name", "trn4.48xlarge")
    for core in range(4):
        tree.file(f"{SYSFS}/neuron0/neuron_core{core}/info/serial", "")
    add_software(tree)
    assert probe(tree.host({"NEURON_LOGICAL_NC_CONFIG": "2"})).count == 2


def test_dmi_alone_tells_the_generation_of_nodes_without_sysfs(tree: Tree) -> None:
    tree.node("/dev/neuron0")
    tree.file("/sys/class/dmi/id/product_name", "trn3.48xlarge")
    add_software(tree)
    found = probe(tree.host())
    assert (found.verdict, found.count, found.details["cores_per_device"]) == (Verdict.usable, 4, "8")


@pytest.mark.parametrize("product", ["", "trn4.48xlarge"])
def test_an_unknown_generation_is_usable_and_says_that_its_cores_are_not_counted(tree: Tree, product: str) -> None:
    tree.node("/dev/neuron0")
    tree.node("/dev/neuron1")
    tree.file("/sys/class/dmi/id/product_name", product)
    add_software(tree)
    found = probe(tree.host())
    assert (found.verdict, found.count) == (Verdict.usable, 2)
    assert "nothing tells how many logical cores there are" in found.reason
    assert probe(tree.host({"NEURON_RT_VISIBLE_CORES": "0-2"})).count == 3
    assert probe(tree.host({"NEURON_RT_VISIBLE_CORES": "x"})).verdict is Verdict.hidden
