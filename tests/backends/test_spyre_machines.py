"""Which machines have a usable Spyre card: cards, driver, containers, packages.

On folders that look like machines; nothing here has seen the hardware.
"""

from __future__ import annotations

import pytest
from spyre_machines import PF, add_card, add_software, address, machine, probe
from trees import PROBE_UNDER_AUDIT, Tree, in_new_process

from accelplug.specs import Verdict


@pytest.mark.parametrize("cards", [1, 8])
def test_cards_with_their_nodes_and_software_are_usable(tree: Tree, cards: int) -> None:
    found = probe(machine(tree, cards).host())
    assert (found.verdict, found.count, found.remedy) == (Verdict.usable, cards, "")


def test_details_say_what_the_machine_is(tree: Tree) -> None:
    tree.package("sendnn-inference", "2.6.3")
    assert probe(machine(tree, 2).host()).details == {
        "cards": "2",
        "kind": "PF",
        "driver": "vfio-pci",
        "addresses": "0000:60:00.0, 0001:60:00.0",
        "torch": "2.13.0",
        "torch-spyre": "0.4.0",
        "sendnn-inference": "2.6.3",
    }


def test_evidence_says_what_was_looked_at_and_what_was_found(tree: Tree) -> None:
    evidence = probe(machine(tree, 1).host({"AIU_WORLD_SIZE": "1"})).evidence
    assert "PCI devices 1014:06a7 (PF) and 1014:06a8 (VF): 0000:60:00.0 PF, driver vfio-pci, IOMMU group 10" in evidence
    assert "/dev/vfio/<group>: /dev/vfio/10" in evidence
    assert "entry point torch_spyre in torch.backends: yes" in evidence
    assert "AIU_WORLD_SIZE='1'" in evidence


def test_a_machine_without_anything_is_no_hardware_and_gets_no_remedy(tree: Tree) -> None:
    found = probe(tree.host())
    assert (found.verdict, found.remedy) == (Verdict.no_hardware, "")


def test_software_without_a_card_is_no_hardware_and_gets_no_remedy(tree: Tree) -> None:
    add_software(tree)
    found = probe(tree.host())
    assert (found.verdict, found.remedy) == (Verdict.no_hardware, "")
    assert "torch-spyre 0.4.0 is installed, but" in found.reason


@pytest.mark.parametrize(("vendor", "device"), [("0x1014", "0x044b"), ("0x10de", PF)])
def test_other_pci_devices_are_no_spyre_cards(tree: Tree, vendor: str, device: str) -> None:
    add_card(tree, 0, device)
    tree.file(f"/sys/bus/pci/devices/{address(0)}/vendor", vendor)
    assert probe(tree.host()).verdict is Verdict.no_hardware


def test_a_vfio_node_of_some_other_device_is_no_spyre_card(tree: Tree) -> None:
    add_software(tree)
    tree.node("/dev/vfio/7")
    found = probe(tree.host({"AIU_WORLD_SIZE": "1"}))
    assert found.verdict is Verdict.no_hardware
    assert "AIU_WORLD_SIZE='1' alone is no card" in found.reason


# driver and permission


def test_twelve_cards_in_a_cpu_pod_are_not_usable(tree: Tree) -> None:
    for number in range(12):
        add_card(tree, number, node=False)
    add_software(tree)
    found = probe(tree.host())
    assert (found.verdict, found.count) == (Verdict.no_driver, 0)
    assert found.reason == "12 Spyre cards known here, but no /dev/vfio/<group> node: this container was given none"
    assert "--device=/dev/vfio" in found.remedy
    assert found.details["cards"] == "0 of 12"


def test_a_node_of_another_vfio_device_does_not_make_a_card_reachable(tree: Tree) -> None:
    add_card(tree, 0, node=False)
    add_software(tree)
    tree.node("/dev/vfio/99")
    assert probe(tree.host()).verdict is Verdict.no_driver


@pytest.mark.parametrize(("driver", "said"), [("", "no driver"), ("other", "other")])
def test_a_card_that_is_not_bound_to_vfio_is_no_driver(tree: Tree, driver: str, said: str) -> None:
    add_card(tree, 0, driver=driver, node=False)
    found = probe(tree.host())
    assert (found.verdict, found.reason) == (
        Verdict.no_driver,
        f"1 Spyre card, but 0000:60:00.0 has {said}, not vfio-pci",
    )
    assert "modprobe vfio-pci ids=1014:06a7,1014:06a8" in found.remedy


@pytest.mark.parametrize("node", ["/dev/vfio/10", "/dev/vfio/vfio"])
def test_a_node_that_this_user_may_not_open_is_no_driver(tree: Tree, node: str) -> None:
    machine(tree, 1).node(node, mode=0o660)
    found = probe(tree.host())
    assert (found.verdict, found.reason) == (Verdict.no_driver, "no permission to open /dev/vfio/10")
    assert "group" in found.remedy
    assert probe(tree.host(uid=0)).verdict is Verdict.usable


def test_only_the_cards_that_may_be_opened_count(tree: Tree) -> None:
    machine(tree, 2).node("/dev/vfio/11", mode=0o600)
    found = probe(tree.host())
    assert (found.count, found.reason) == (1, "1 Spyre card; no permission to open /dev/vfio/11")


# containers


def test_a_pod_counts_the_cards_it_has_nodes_for(tree: Tree) -> None:
    for number in range(12):
        add_card(tree, number, node=number in (3, 5))
    add_software(tree)
    found = probe(tree.host())
    assert (found.count, found.details["cards"]) == (2, "2 of 12")


@pytest.mark.parametrize("variable", ["PCIDEVICE_IBM_COM_AIU_PF", "PCIDEVICE_IBM_COM_AIU_VF"])
def test_the_device_plugins_assignment_limits_the_cards(tree: Tree, variable: str) -> None:
    found = probe(machine(tree).host({variable: f"{address(1)}, {address(2).upper()}"}))
    assert (found.count, found.details["addresses"]) == (2, f"{address(1)}, {address(2)}")


def test_an_assigned_card_without_sysfs_is_found_by_its_node(tree: Tree) -> None:
    add_software(tree)
    tree.node("/dev/vfio/17")
    found = probe(tree.host({"PCIDEVICE_IBM_COM_AIU_VF": "0182:60:00.0"}))
    assert (found.verdict, found.count, found.details["kind"]) == (Verdict.usable, 1, "VF")
    assert "0182:60:00.0: assigned to this container, but not a PCI device here" in found.evidence


def test_an_assigned_card_without_a_node_is_no_driver(tree: Tree) -> None:
    add_software(tree)
    found = probe(tree.host({"PCIDEVICE_IBM_COM_AIU_PF": "0182:60:00.0"}))
    assert found.verdict is Verdict.no_driver
    assert "this container was given none" in found.reason


# software


def test_a_card_without_software_is_told_where_to_get_it(tree: Tree) -> None:
    add_card(tree, 0)
    tree.package("torch", "2.13.0")
    found = probe(tree.host())
    assert (found.verdict, found.reason) == (Verdict.no_software, "torch-spyre is not installed")
    assert "github.com/torch-spyre/torch-spyre" in found.remedy


def test_without_torch_that_comes_first(tree: Tree) -> None:
    add_card(tree, 0)
    found = probe(tree.host())
    assert (found.verdict, found.reason) == (Verdict.no_software, "torch is not installed")
    assert found.remedy.startswith("pip install torch")


def test_the_empty_package_on_pypi_is_named_as_a_placeholder(tree: Tree) -> None:
    add_card(tree, 0)
    tree.package("torch", "2.13.0")
    tree.package("ibm-spyre", "0.0.1")
    found = probe(tree.host())
    assert found.verdict is Verdict.no_software
    assert "ibm-spyre from PyPI is an empty placeholder" in found.reason


def test_a_torch_spyre_that_registers_nothing_is_a_placeholder(tree: Tree) -> None:
    add_card(tree, 0)
    tree.package("torch", "2.13.0")
    tree.package("torch-spyre", "0.0.1")
    tree.module("torch_spyre", "")
    found = probe(tree.host())
    assert found.verdict is Verdict.no_software
    assert "torch-spyre 0.0.1 is a placeholder or incomplete" in found.reason


def test_switching_autoload_off_leaves_the_device_usable_as_load_registers_it(tree: Tree) -> None:
    assert probe(machine(tree).host({"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})).verdict is Verdict.usable


def test_probing_imports_no_sdk_and_opens_no_device_node(tree: Tree) -> None:
    machine(tree).module("torch_spyre", "raise SystemExit('the probe imported the SDK')")
    done = in_new_process(PROBE_UNDER_AUDIT.format(name="spyre"), tree)
    assert done.stdout == "clean\n", done.stderr
