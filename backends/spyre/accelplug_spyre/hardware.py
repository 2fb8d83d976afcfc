"""What the machine shows of Spyre cards: PCI devices, their driver, and the VFIO nodes through which they are opened.

A card is used through /dev/vfio/<group>, the node of its IOMMU group. A container sees every card of the machine in
sysfs, but has nodes only for those it was given: cards are counted by their nodes, never by their PCI entries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from accelplug.specs import Host

PCI = "/sys/bus/pci/devices"
VENDOR = "0x1014"  # IBM
KINDS = {"0x06a7": "PF", "0x06a8": "VF"}  # the card itself, and a part of it (SR-IOV)
DRIVER = "vfio-pci"

# What the Kubernetes device plugin gave this container: PCI addresses, separated by commas.
ASSIGNED_CARDS = "PCIDEVICE_IBM_COM_AIU_PF"
ASSIGNED = {ASSIGNED_CARDS: "PF", "PCIDEVICE_IBM_COM_AIU_VF": "VF"}


@dataclass(frozen=True)
class Card:
    """One card. ``index`` is its place among all the machine's cards; ``node`` is "" where this process has none."""

    address: str
    kind: str
    index: int
    driver: str = ""
    group: str = ""
    node: str = ""


@dataclass(frozen=True)
class Hardware:
    """What was seen. ``cards`` are those in sysfs, or those that the device plugin assigned; ``shut`` are the nodes
    that this user can't open."""

    cards: tuple[Card, ...]
    shut: tuple[str, ...]
    evidence: tuple[str, ...]

    @property
    def reachable(self) -> tuple[Card, ...]:
        """The cards that have a node here."""
        return tuple(card for card in self.cards if card.node)

    @property
    def open_cards(self) -> tuple[Card, ...]:
        """The cards whose node this user may open."""
        return tuple(card for card in self.reachable if card.node not in self.shut)

    @property
    def details(self) -> dict[str, str]:
        if not self.cards:
            return {}
        reachable = self.reachable
        found = {"cards": f"{len(reachable)} of {len(self.cards)}" if self.cards != reachable else str(len(reachable))}
        for key, texts in (
            ("kind", {card.kind for card in self.cards}),
            ("driver", {card.driver for card in self.cards} - {""}),
            ("addresses", {card.address for card in reachable}),
        ):
            if texts:
                found[key] = ", ".join(sorted(texts))
        return found


def look(host: Host) -> Hardware:
    """Looks at everything once. Opens no device node."""
    pci = _pci_cards(host)
    given = _assigned(host.environ)
    nodes = tuple(host.list("/dev/vfio", r"[0-9]+"))
    cards = _with_nodes(_only(pci, given) if given else pci, nodes)
    control = "/dev/vfio/vfio"
    closed = host.exists(control) and not host.may_open(control)
    shut = tuple(card.node for card in cards if card.node and (closed or not host.may_open(card.node)))
    evidence = (
        f"PCI devices 1014:06a7 (PF) and 1014:06a8 (VF): {_some(pci)}",
        f"/dev/vfio/<group>: {', '.join(nodes) or 'none'}",
        *(f"{name}={host.environ[name]!r}" for name in ASSIGNED if name in host.environ),
        *((f"{control}: no permission to open it",) if closed else ()),
        *(f"{card.address}: assigned to this container, but not a PCI device here" for card in cards if card.index < 0),
    )
    return Hardware(cards, shut, evidence)


def _pci_cards(host: Host) -> tuple[Card, ...]:
    cards: list[Card] = []
    folders = host.list(PCI, r"[0-9a-fA-F]+:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
    for folder in sorted(folders, key=lambda folder: (len(folder), folder)):  # hexadecimal: natural order is wrong
        kind = KINDS.get(host.read(f"{folder}/device") or "")
        if kind and host.read(f"{folder}/vendor") == VENDOR:
            driver, group = host.link(f"{folder}/driver") or "", host.link(f"{folder}/iommu_group") or ""
            cards.append(Card(folder.rsplit("/", 1)[1].lower(), kind, len(cards), driver, group))
    return tuple(cards)


def _assigned(environ: Mapping[str, str]) -> dict[str, str]:
    """The addresses that the device plugin names, with their kind."""
    return {
        address.strip().lower(): kind
        for variable, kind in ASSIGNED.items()
        for address in environ.get(variable, "").split(",")
        if address.strip()
    }


def _only(pci: tuple[Card, ...], given: dict[str, str]) -> tuple[Card, ...]:
    """The given cards; one that isn't among the PCI devices (sysfs may be hidden) has the index -1."""
    known = {card.address: card for card in pci}
    return tuple(known.get(address, Card(address, kind, -1)) for address, kind in given.items())


def _with_nodes(cards: tuple[Card, ...], nodes: tuple[str, ...]) -> tuple[Card, ...]:
    """The cards with their group's node. Cards without a known group take the nodes that no other card has: in a
    container without sysfs, those are the ones that came with the card."""
    grouped = {f"/dev/vfio/{card.group}" for card in cards if card.group}
    spare = iter([node for node in nodes if node not in grouped])
    placed = []
    for card in cards:
        own = f"/dev/vfio/{card.group}"
        node = (own if own in nodes else "") if card.group else next(spare, "")
        placed.append(replace(card, node=node))
    return tuple(placed)


def _some(cards: tuple[Card, ...]) -> str:
    """Each card with its kind, driver and group."""
    return (
        "; ".join(
            f"{card.address} {card.kind}, driver {card.driver or 'none'}, IOMMU group {card.group or 'none'}"
            for card in cards
        )
        or "none"
    )
