"""What a Neuron device needs besides being there: a driver, permission, the right packages.

On folders that look like machines; nothing here has seen the hardware.
"""

from __future__ import annotations

import pytest
from neuron_machines import TRN2, WRONG_PACKAGE, add_machine, add_software, probe
from trees import PROBE_UNDER_AUDIT, Tree, in_new_process

from accelplug.specs import Verdict


def test_an_instance_whose_driver_is_not_loaded_is_no_driver(tree: Tree) -> None:
    tree.file("/sys/devices/virtual/dmi/id/product_name", "trn2.48xlarge")
    add_software(tree)
    found = probe(tree.host())
    assert found.verdict is Verdict.no_driver
    assert "trn2.48xlarge" in found.reason
    assert "aws-neuronx-dkms" in found.remedy
    assert "--device" in found.remedy


@pytest.mark.parametrize("software", [True, False])
def test_a_container_without_the_nodes_is_told_to_pass_them(tree: Tree, software: bool) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    for node in (tree.root / "dev").iterdir():
        node.unlink()
    if software:
        add_software(tree)
    found = probe(tree.host())
    assert found.verdict is Verdict.no_driver
    assert found.reason == "the driver sees 16 trn2 devices, but there is no /dev/neuron<N> here"
    assert "--device=/dev/neuron0" in found.remedy


def test_a_driver_problem_on_an_older_generation_says_that_solving_it_is_no_use(tree: Tree) -> None:
    tree.file("/sys/devices/virtual/dmi/id/product_name", "trn1.32xlarge")
    found = probe(tree.host())
    assert found.verdict is Verdict.no_driver
    assert "trn1 has no native PyTorch device" in found.reason


def test_a_loaded_driver_without_a_version_is_seen_in_proc_modules(tree: Tree) -> None:
    tree.file("/sys/devices/virtual/dmi/id/product_name", "trn2.48xlarge")
    tree.file("/proc/modules", "ext4 1000 1 - Live 0x0\nneuron 421888 0 - Live 0x0")
    found = probe(tree.host())
    assert found.details["driver"] == "loaded, version unknown"
    assert found.reason == "the driver is loaded, but there is no /dev/neuron<N> here"


def test_a_node_that_this_user_may_not_open_is_no_driver(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 1)
    add_software(tree)
    tree.node("/dev/neuron0", mode=0o660)
    found = probe(tree.host())
    assert (found.verdict, found.reason) == (Verdict.no_driver, "no permission to open /dev/neuron0")
    assert "group" in found.remedy
    assert probe(tree.host(uid=0)).verdict is Verdict.usable


def test_only_the_devices_that_may_be_opened_count(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 2)
    add_software(tree)
    tree.node("/dev/neuron1", mode=0o600)
    found = probe(tree.host())
    assert found.count == 4
    assert "no permission to open /dev/neuron1" in found.reason


# software


def test_a_card_without_software_is_told_where_to_get_it(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    tree.package("torch", "2.13.0")
    found = probe(tree.host())
    assert (found.verdict, found.reason) == (Verdict.no_software, "torch-neuronx is not installed")
    assert "AWS package index" in found.remedy


def test_without_torch_that_comes_first(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    found = probe(tree.host())
    assert (found.verdict, found.reason) == (Verdict.no_software, "torch is not installed")
    assert found.remedy.startswith("pip install torch")


@pytest.mark.parametrize(("version", "text"), [("1.0", WRONG_PACKAGE), ("1.0", ""), ("9.9", WRONG_PACKAGE)])
def test_the_placeholder_on_pypi_is_named_as_one(tree: Tree, version: str, text: str) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    tree.package("torch", "2.13.0")
    tree.package("torch-neuronx", version, text)
    tree.module("torch_neuronx", "raise ImportError('WRONG PACKAGE')")
    found = probe(tree.host())
    assert found.verdict is Verdict.no_software
    assert f"torch-neuronx {version} is PyPI's placeholder" in found.reason
    assert "AWS package index" in found.remedy
    assert found.details["torch-neuronx"] == f"{version} (PyPI placeholder)"


def test_a_placeholder_on_a_machine_without_a_device_stays_no_hardware(tree: Tree) -> None:
    tree.package("torch-neuronx", "1.0", WRONG_PACKAGE)
    found = probe(tree.host())
    assert (found.verdict, found.remedy) == (Verdict.no_hardware, "")
    assert "torch-neuronx 1.0 (PyPI placeholder) is installed, but" in found.reason


def test_the_torch_xla_generation_is_no_native_software(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    add_software(tree, "2.9.0.2.11.19")
    found = probe(tree.host())
    assert found.verdict is Verdict.no_software
    assert "torch_xla generation" in found.reason
    assert "2.13" in found.remedy


@pytest.mark.parametrize("version", ["2.13.3.0", "2.14.3.0+abc", "3.0"])
def test_later_versions_are_native(tree: Tree, version: str) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    add_software(tree, version)
    assert probe(tree.host()).verdict is Verdict.usable


def test_metadata_without_the_module_is_incomplete(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    tree.package("torch", "2.13.0")
    tree.package("torch-neuronx", "2.13.3.0")
    assert "incomplete" in probe(tree.host()).reason
    tree.module("torch_neuronx", "")
    assert probe(tree.host()).verdict is Verdict.usable


def test_a_version_that_is_none_is_said(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    add_software(tree, "dev")
    assert "'dev', can't be read" in probe(tree.host()).reason


def test_vllms_private_copy_is_shown_and_is_no_replacement(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    tree.package("torch", "2.13.0")
    tree.package("libtorch-neuronx-lite", "0.3.1")
    tree.package("vllm-neuron", "0.1.0", WRONG_PACKAGE)
    found = probe(tree.host())
    assert "libtorch-neuronx-lite is vLLM Neuron's private copy" in found.reason
    assert found.details["libtorch-neuronx-lite"] == "0.3.1"
    assert found.details["vllm-neuron"] == "0.1.0 (PyPI placeholder)"


def test_probing_imports_no_sdk_and_opens_no_device_node(tree: Tree) -> None:
    add_machine(tree, "trn2.48xlarge", TRN2, 2)
    add_software(tree)
    tree.module("torch_neuronx", "raise SystemExit('the probe imported the SDK')")
    done = in_new_process(PROBE_UNDER_AUDIT.format(name="neuron"), tree)
    assert done.stdout == "clean\n", done.stderr
