"""Machines with Spyre cards, as folders: what sysfs, vfio and pip would have left there."""

from __future__ import annotations

import accelplug_spyre
from trees import Tree

from accelplug.specs import Host, Probe

PF, VF = "0x06a7", "0x06a8"


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
