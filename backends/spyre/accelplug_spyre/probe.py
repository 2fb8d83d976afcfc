"""The verdict on Spyre: hardware, then driver and permission, then software, then what the variables leave."""

from __future__ import annotations

from accelplug.specs import Host, Probe, Verdict
from accelplug_spyre import hardware, software, visible
from accelplug_spyre.hardware import DRIVER, Hardware
from accelplug_spyre.software import SDK, Software
from accelplug_spyre.visible import DEVICES, KIND, WORLD_SIZE, SettingError

PASS_NODES = "start the container with --device=/dev/vfio, or request ibm.com/spyre_pf in Kubernetes"


def probe(host: Host) -> Probe:
    """Whether PyTorch's ``spyre`` device can work here, and with how many cards."""
    seen, stack = hardware.look(host), software.look(host)
    found = (
        _mock(host, stack) or _absent(host, seen, stack) or _driver(seen) or _software(stack) or _visible(host, seen)
    )
    settings = tuple(f"{name}={host.environ[name]!r}" for name in (KIND, DEVICES, WORLD_SIZE) if name in host.environ)
    return found.model_copy(
        update={"details": seen.details | stack.versions, "evidence": seen.evidence + stack.evidence + settings}
    )


def _mock(host: Host, stack: Software) -> Probe | None:
    """flex's own stand-in for a card, where FLEX_DEVICE asks for it: no card is needed, and none is used."""
    try:
        if visible.kind(host.environ) != "MOCK":
            return None
        count = visible.world_size(host.environ)
    except SettingError as error:
        return _hidden(error) if error.variable == WORLD_SIZE else None  # a wrong FLEX_DEVICE: said if there is a card
    if stack.problem:
        return _software(stack)
    if count is None:
        return Probe(
            verdict=Verdict.hidden,
            reason=f"{KIND}={host.environ[KIND]!r} needs {WORLD_SIZE}, the number of cards to mock",
            remedy=f"set {WORLD_SIZE}=1, or unset {KIND} to use real cards",
        )
    return Probe(
        verdict=Verdict.usable,
        reason=f"{count} mock card{'s' * (count > 1)}, by {KIND}={host.environ[KIND]!r}: allocates, computes nothing",
        count=count,
        simulated=True,
    )


def _absent(host: Host, seen: Hardware, stack: Software) -> Probe | None:
    if seen.cards:
        return None
    reason = "no PCI device 1014:06a7 or 1014:06a8, and no card assigned by a device plugin"
    if WORLD_SIZE in host.environ:
        reason += f"; {WORLD_SIZE}={host.environ[WORLD_SIZE]!r} alone is no card"
    if version := stack.versions.get(SDK):
        reason = f"{SDK} {version} is installed, but: {reason}"
    return Probe(verdict=Verdict.no_hardware, reason=reason)


def _driver(seen: Hardware) -> Probe | None:
    """Cards that can't be reached: not bound to the driver, no node, or none that this user may open."""
    if seen.open_cards:
        return None
    if seen.reachable:
        return Probe(
            verdict=Verdict.no_driver,
            reason=f"no permission to open {', '.join(seen.shut)}",
            remedy="add this user to the group that owns the nodes in /dev/vfio, or set it with a udev rule",
        )
    unbound = [card for card in seen.cards if card.index >= 0 and card.driver != DRIVER]
    if len(unbound) == len(seen.cards):
        card = unbound[0]
        return Probe(
            verdict=Verdict.no_driver,
            reason=f"{_cards(len(seen.cards))}, but {card.address} has {card.driver or 'no driver'}, not {DRIVER}",
            remedy=f"bind it: sudo modprobe {DRIVER} ids=1014:06a7,1014:06a8, with the IOMMU on",
        )
    return Probe(
        verdict=Verdict.no_driver,
        reason=f"{_cards(len(seen.cards))} known here, but no /dev/vfio/<group> node: this container was given none",
        remedy=PASS_NODES,
    )


def _software(stack: Software) -> Probe | None:
    if not stack.problem:
        return None
    return Probe(verdict=Verdict.no_software, reason=stack.problem, remedy=stack.remedy)


def _visible(host: Host, seen: Hardware) -> Probe:
    """How many cards the variables leave."""
    cards = seen.open_cards
    try:
        count = visible.visible(host.environ, cards)
    except SettingError as error:
        return _hidden(error, f"{_cards(len(cards))}, ")
    by = ", ".join(f"{name}={host.environ[name]!r}" for name in (KIND, DEVICES, WORLD_SIZE) if name in host.environ)
    limited = f" of {len(cards)}, by {by}" if count < len(cards) else ""
    shut = f"; no permission to open {', '.join(seen.shut)}" if seen.shut else ""
    return Probe(verdict=Verdict.usable, reason=f"{_cards(count)}{limited}{shut}", count=count)


def _hidden(error: SettingError, cards: str = "") -> Probe:
    return Probe(
        verdict=Verdict.hidden, reason=f"{cards}hidden by {error}", remedy=f"unset {error.variable}, or correct it"
    )


def _cards(number: int) -> str:
    return f"{number} Spyre card{'s' * (number != 1)}"
