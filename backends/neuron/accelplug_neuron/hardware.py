"""What the machine shows of Neuron devices: nodes in /dev, the driver's sysfs, the DMI name of the instance.

Every file is optional. Driver 2.31 moved files in sysfs and its new layout isn't documented, so each is looked for in
several places; those beyond the documented first one are guesses, unverified on hardware.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from accelplug.specs import Host
from accelplug_neuron import generations
from accelplug_neuron.generations import Generation

SYSFS = ("/sys/devices/virtual/neuron_device", "/sys/class/neuron_device")
ARCHITECTURE = ("info/architecture", "architecture", "info")
CORE_COUNT = ("core_count", "info/core_count", "info/architecture/core_count")
DRIVER_VERSION = ("/sys/module/neuron/version", "/proc/driver/neuron/version")
PRODUCT_NAMES = ("/sys/devices/virtual/dmi/id/product_name", "/sys/class/dmi/id/product_name")
DEVICE = r"neuron[0-9]+"


@dataclass(frozen=True)
class Hardware:
    """What was seen. ``nodes`` are what this process has, ``folders`` what the driver has: a container that is given
    some of the machine's devices sees all of them in sysfs. ``cores`` is per device, 0 where nothing tells."""

    nodes: tuple[str, ...]
    shut: tuple[str, ...]
    folders: tuple[str, ...]
    generation: str
    instance_type: str
    cores: int
    driver: str
    connected: str
    evidence: tuple[str, ...]

    @property
    def found(self) -> bool:
        """Whether anything says that this machine has Neuron devices."""
        return bool(self.nodes or self.folders or generations.from_instance_type(self.instance_type))

    @property
    def known(self) -> Generation | None:
        """What is known of the generation, None where it is not one of the known ones."""
        return generations.KNOWN.get(self.generation)

    @property
    def open_devices(self) -> tuple[int, ...]:
        """The numbers of the devices whose node this user may open."""
        return tuple(_number(node) for node in self.nodes if node not in self.shut)

    @property
    def details(self) -> dict[str, str]:
        devices = len(self.nodes)
        return _filled(
            {
                "generation": self.generation,
                "instance_type": self.instance_type,
                "devices": f"{devices} of {len(self.folders)}" if devices < len(self.folders) else str(devices or ""),
                "cores_per_device": str(self.cores or ""),
                "driver": self.driver,
                "connected_devices": self.connected,
            }
        )


def look(host: Host) -> Hardware:
    """Looks at everything once. Opens no device node."""
    nodes = tuple(host.list("/dev", DEVICE))
    folders = tuple(next((found for root in SYSFS if (found := host.list(root, DEVICE))), []))
    product = _first(host, PRODUCT_NAMES)
    instance = product if generations.from_instance_type(product) else ""
    generation, generation_source = _generation(host, folders, product)
    cores, cores_source = _cores(host, folders, generation)
    driver = _driver(host)
    evidence: tuple[str, ...] = (
        f"/dev/neuron<N>: {_some(nodes)}",
        f"{' or '.join(f'{root}/neuron<N>' for root in SYSFS)}: {_some(folders)}",
        f"DMI product name: {product or 'none'}",
        f"generation: {generation or 'unknown'} (from {generation_source})",
        f"physical cores in a device: {cores or 'unknown'} (from {cores_source})",
        f"driver: {driver or 'not loaded'}",
    )
    handed = host.environ.get("AWS_NEURON_VISIBLE_DEVICES")
    if handed is not None:
        evidence += (f"AWS_NEURON_VISIBLE_DEVICES (what the container was given): {handed!r}",)
    return Hardware(
        nodes=nodes,
        shut=tuple(node for node in nodes if not host.may_open(node)),
        folders=folders,
        generation=generation,
        instance_type=instance,
        cores=cores,
        driver=driver,
        connected=_connected(host, folders),
        evidence=evidence,
    )


def _generation(host: Host, folders: tuple[str, ...], product: str) -> tuple[str, str]:
    """The generation and which file told it: the driver's word first, since DMI may be a hypervisor's."""
    for folder in folders[:1]:
        for place in ARCHITECTURE:
            for name, read in (
                ("instance_type", generations.from_instance_type),
                ("device_name", generations.from_chip),
            ):
                path = f"{folder}/{place}/{name}"
                if found := read(host.read(path) or ""):
                    return found, path
        for place in ARCHITECTURE:
            path = f"{folder}/neuron_core0/{place}/arch_type"
            if found := generations.from_core(host.read(path) or ""):
                return found, path
    found = generations.from_instance_type(product)
    return found, "DMI" if found else "nothing"


def _cores(host: Host, folders: tuple[str, ...], generation: str) -> tuple[int, str]:
    """The number of physical cores in a device, and what told it."""
    for folder in folders[:1]:
        for name in CORE_COUNT:
            count = host.read(f"{folder}/{name}") or ""
            if re.fullmatch(r"[1-9][0-9]*", count):
                return int(count), f"{folder}/{name}"
    if known := generations.KNOWN.get(generation):
        return known.cores, f"what a {generation} device has"
    for folder in folders[:1]:
        if cores := host.list(folder, r"neuron_core[0-9]+"):
            return len(cores), f"{folder}/neuron_core<N>"
    return 0, "nothing"


def _driver(host: Host) -> str:
    """The driver's version, "loaded, version unknown", or "" where it isn't loaded."""
    version = _first(host, DRIVER_VERSION)
    modules = (host.read("/proc/modules") or "").splitlines()
    loaded = host.exists("/sys/module/neuron") or any(line.split()[:1] == ["neuron"] for line in modules)
    return version or ("loaded, version unknown" if loaded else "")


def _connected(host: Host, folders: Iterable[str]) -> str:
    """Which devices each one is wired to, as the driver lists them: "0: 1, 4; 1: 0, 5"."""
    links = {_number(folder): host.read(f"{folder}/connected_devices") for folder in folders}
    return "; ".join(f"{number}: {to}" for number, to in links.items() if to)


def _first(host: Host, paths: Iterable[str]) -> str:
    return next((text for path in paths if (text := host.read(path))), "")


def _number(path: str) -> int:
    return int(path.rsplit("neuron", 1)[1])


def _some(paths: tuple[str, ...]) -> str:
    """All of a few paths, the ends of many."""
    if len(paths) > 4:
        return f"{paths[0]} … {paths[-1]} ({len(paths)})"
    return ", ".join(paths) or "none"


def _filled(texts: dict[str, str]) -> dict[str, str]:
    return {key: text for key, text in texts.items() if text}
