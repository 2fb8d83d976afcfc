"""Spyre detection on folders that look like machines. Nothing here has seen the hardware."""

from __future__ import annotations

from pathlib import Path

import accelplug_spyre
import pytest
from accelplug_spyre import visible
from accelplug_spyre.hardware import Card
from hypothesis import given
from hypothesis import strategies as st
from trees import PROBE_UNDER_AUDIT, Tree, in_new_process

from accelplug.specs import Host, Probe, Verdict

PF, VF = "0x06a7", "0x06a8"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def probe(host: Host) -> Probe:
    return accelplug_spyre.accelplug_device().probe(host)


def address(number: int) -> str:
    return f"0{number:03x}:60:00.0"


def add_card(tree: Tree, number: int, device: str = PF, driver: str = "vfio-pci", node: bool = True) -> None:
    """A PCI device in the IOMMU group 10 + number, bound to a driver, with or without the group's node."""
    folder = f"/sys/bus/pci/devices/{address(number)}"
    tree.file(f"{folder}/vendor", "0x1014")
    tree.file(f"{folder}/device", device)
    tree.link(f"{folder}/iommu_group", f"../../../../kernel/iommu_groups/{10 + number}")
    if driver:
        tree.link(f"{folder}/driver", f"../../../../bus/pci/drivers/{driver}")
    if node:
        tree.node(f"/dev/vfio/{10 + number}")
        tree.node("/dev/vfio/vfio")


def add_software(tree: Tree) -> None:
    tree.package("torch", "2.13.0")
    tree.package("torch-spyre", "0.4.0", backend="torch_spyre")


def machine(tree: Tree, cards: int = 4) -> Tree:
    for number in range(cards):
        add_card(tree, number)
    add_software(tree)
    return tree


# machines


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


def test_switching_autoload_off_keeps_the_device_away(tree: Tree) -> None:
    found = probe(machine(tree).host({"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}))
    assert (found.verdict, found.remedy) == (Verdict.no_software, "unset TORCH_DEVICE_BACKEND_AUTOLOAD")


# what the variables leave


@pytest.mark.parametrize(
    ("environ", "count"),
    [
        ({"SPYRE_DEVICES": "0,2"}, 2),
        ({"SPYRE_DEVICES": " 3 , 3"}, 1),
        ({"SPYRE_DEVICES": "0,9"}, 1),
        ({"AIU_WORLD_SIZE": "2"}, 2),
        ({"AIU_WORLD_SIZE": "4"}, 4),
        ({"AIU_WORLD_SIZE": "2", "SPYRE_DEVICES": "1,2,3"}, 2),
        ({"AIU_WORLD_SIZE": "3", "SPYRE_DEVICES": "2"}, 1),
        ({"FLEX_DEVICE": "PF"}, 4),
    ],
)
def test_variables_limit_the_cards(tree: Tree, environ: dict[str, str], count: int) -> None:
    found = probe(machine(tree).host(environ))
    assert (found.verdict, found.count) == (Verdict.usable, count)


def test_a_limited_count_says_what_limits_it(tree: Tree) -> None:
    assert probe(machine(tree).host({"SPYRE_DEVICES": "0,2"})).reason == "2 Spyre cards of 4, by SPYRE_DEVICES='0,2'"


@pytest.mark.parametrize(("kind", "count"), [("PF", 1), ("VF", 2)])
def test_flex_device_picks_cards_or_virtual_functions(tree: Tree, kind: str, count: int) -> None:
    add_card(tree, 0, PF)
    add_card(tree, 1, VF)
    add_card(tree, 2, VF)
    add_software(tree)
    assert probe(tree.host({"FLEX_DEVICE": kind})).count == count


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        ("SPYRE_DEVICES", "4", "none of these is here, the cards are 0 to 3"),
        ("SPYRE_DEVICES", "", "names no card"),
        ("SPYRE_DEVICES", "0,x", "'x' is not the index of a card"),
        ("SPYRE_DEVICES", "-1", "'-1' is not the index of a card"),
        ("AIU_WORLD_SIZE", "0", "must be a number of cards, 1 or more"),
        ("AIU_WORLD_SIZE", "two", "must be a number of cards, 1 or more"),
        ("AIU_WORLD_SIZE", "5", "but there are 4 here"),
        ("FLEX_DEVICE", "GPU", "must be PF (cards), VF (virtual functions of cards) or MOCK"),
        ("FLEX_DEVICE", "VF", "but the cards here are PF"),
    ],
)
def test_what_leaves_no_card_is_hidden_and_names_the_variable(
    tree: Tree, variable: str, value: str, problem: str
) -> None:
    found = probe(machine(tree).host({variable: value}))
    assert (found.verdict, found.count) == (Verdict.hidden, 0)
    assert f"4 Spyre cards, hidden by {variable}={value!r}: " in found.reason
    assert problem in found.reason
    assert found.remedy == f"unset {variable}, or correct it"


@pytest.mark.parametrize("devices", ["0,1", "3,5"])
def test_a_pod_may_call_its_cards_by_either_numbering(tree: Tree, devices: str) -> None:
    for number in range(12):
        add_card(tree, number, node=number in (3, 5))
    add_software(tree)
    assert probe(tree.host({"SPYRE_DEVICES": devices})).count == 2


@given(st.sets(st.integers(0, 15), min_size=1), st.lists(st.integers(0, 20), min_size=1))
def test_named_cards_never_count_more_than_there_are(indices: set[int], named: list[int]) -> None:
    cards = [Card(address(index), "PF", index, node=f"/dev/vfio/{index}") for index in sorted(indices)]
    environ = {"SPYRE_DEVICES": ",".join(map(str, named))}
    if {*named} & (indices | {*range(len(cards))}):
        assert 1 <= visible.visible(environ, cards) <= min(len({*named}), len(cards))
    else:
        with pytest.raises(visible.SettingError, match="none of these is here"):
            visible.visible(environ, cards)


# the mock device of flex


@pytest.mark.parametrize("kind", ["MOCK", "MOCK1p0"])
def test_the_mock_device_is_usable_without_a_card_and_labelled_simulated(tree: Tree, kind: str) -> None:
    add_software(tree)
    found = probe(tree.host({"FLEX_DEVICE": kind, "AIU_WORLD_SIZE": "2"}))
    assert (found.verdict, found.count, found.simulated) == (Verdict.usable, 2, True)
    assert "computes nothing" in found.reason


def test_real_cards_are_not_simulated(tree: Tree) -> None:
    assert not probe(machine(tree).host({"FLEX_DEVICE": "PF"})).simulated


@pytest.mark.parametrize(
    ("environ", "said"),
    [({}, "needs AIU_WORLD_SIZE"), ({"AIU_WORLD_SIZE": "0"}, "hidden by AIU_WORLD_SIZE='0'")],
)
def test_the_mock_device_needs_a_number_of_cards(tree: Tree, environ: dict[str, str], said: str) -> None:
    found = probe(machine(tree).host({"FLEX_DEVICE": "MOCK"} | environ))
    assert found.verdict is Verdict.hidden
    assert said in found.reason


def test_the_mock_device_without_software_says_so(tree: Tree) -> None:
    found = probe(tree.host({"FLEX_DEVICE": "MOCK", "AIU_WORLD_SIZE": "1"}))
    assert found.verdict is Verdict.no_software


# side effects


def test_probing_imports_no_sdk_and_opens_no_device_node(tree: Tree) -> None:
    machine(tree).module("torch_spyre", "raise SystemExit('the probe imported the SDK')")
    done = in_new_process(PROBE_UNDER_AUDIT.format(name="spyre", environ={}), tree)
    assert done.stdout == "clean\n", done.stderr


def test_loading_leaves_the_registration_to_torchs_autoload(tree: Tree) -> None:
    add_software(tree)
    tree.module(
        "torch_spyre",
        "import types\n"
        "def _autoload():\n"
        "    import torch\n"
        "    torch.utils.rename_privateuse1_backend('spyre')\n"
        "    torch._register_device_module('spyre', types.ModuleType('torch.spyre'))\n",
    )
    done = in_new_process(
        "from accelplug_spyre.load import load; load(); import torch; print(torch.device('spyre:1'))", tree
    )
    assert done.stdout == "spyre:1\n", done.stderr


def test_loading_with_autoload_off_is_an_error_that_names_the_variable(tree: Tree) -> None:
    tree.module("torch_spyre", "")
    done = in_new_process("from accelplug_spyre.load import load; load()", tree, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert "TORCH_DEVICE_BACKEND_AUTOLOAD is 0; it must be unset or 1" in done.stderr
