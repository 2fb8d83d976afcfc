"""EC2 instances with Neuron devices, as folders: what the driver and pip would have left there."""

from __future__ import annotations

import accelplug_neuron
from trees import Tree

from accelplug.specs import Host, Probe

SYSFS = "/sys/devices/virtual/neuron_device"
WRONG_PACKAGE = "WRONG PACKAGE. Please install the package from Neuron Repository"

# family as the driver says it, chip, core architecture, physical cores in a device
TRN1 = ("Trn1", "Trainium1", "NCv2", 2)
INF2 = ("Inf2", "Inferentia2", "NCv2", 2)
TRN2 = ("Trn2", "Trainium2", "NCv3", 8)
TRN3 = ("Trn3", "Trainium3", "NCv4", 8)


def probe(host: Host) -> Probe:
    return accelplug_neuron.accelplug_device().probe(host)


def add_machine(tree: Tree, instance: str, chip: tuple[str, str, str, int], devices: int, root: str = SYSFS) -> None:
    """An EC2 instance with the driver loaded: sysfs as documented up to driver 2.30, and a node for each device."""
    family, name, core, count = chip
    tree.file("/sys/devices/virtual/dmi/id/product_name", instance)
    tree.file("/sys/module/neuron/version", "2.30.1.0")
    for number in range(devices):
        tree.node(f"/dev/neuron{number}")
        tree.file(f"{root}/neuron{number}/core_count", str(count))
        tree.file(f"{root}/neuron{number}/connected_devices", f"{(number + 1) % devices}, {(number - 1) % devices}")
        tree.file(f"{root}/neuron{number}/info/architecture/instance_type", family)
        tree.file(f"{root}/neuron{number}/info/architecture/device_name", name)
        tree.file(f"{root}/neuron{number}/neuron_core0/info/architecture/arch_type", core)


def add_software(tree: Tree, version: str = "2.13.3.0") -> None:
    tree.package("torch", "2.13.0")
    tree.package("torch-neuronx", version, backend="torch_neuronx")
