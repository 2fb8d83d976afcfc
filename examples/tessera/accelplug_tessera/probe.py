"""Whether a Tessera One is here, and how many. From files alone: no SDK is imported, no device opened, no torch."""

from __future__ import annotations

from accelplug.specs import Host, Probe, Verdict

VISIBLE = "TESSERA_VISIBLE_DEVICES"
SDK = "torch-tessera"


def probe(host: Host) -> Probe:
    """Hardware first, then the right to open it, then the SDK, then what the variable leaves."""
    nodes = host.list("/dev", r"tessera\d+")
    if not nodes:
        return Probe(verdict=Verdict.no_hardware, reason="no /dev/tessera<N> device node")
    shut = [node for node in nodes if not host.may_open(node)]
    if shut:
        remedy = "add this user to the group `tessera`, and log in again"
        return Probe(verdict=Verdict.no_driver, reason=f"no permission to open {', '.join(shut)}", remedy=remedy)
    version = host.version(SDK)
    if version is None:
        remedy = f"pip install {SDK}"
        return Probe(verdict=Verdict.no_software, reason=f"{len(nodes)} cards, but {SDK} is missing", remedy=remedy)
    wanted = host.environ.get(VISIBLE)
    seen = (
        nodes if wanted is None else [node for node in nodes if node.removeprefix("/dev/tessera") in wanted.split(",")]
    )
    if not seen:
        remedy = f"unset {VISIBLE}, or name some of {', '.join(nodes)} by their numbers"
        return Probe(verdict=Verdict.hidden, reason=f"{VISIBLE}={wanted!r} leaves no card", remedy=remedy)
    return Probe(verdict=Verdict.usable, reason=f"{len(seen)} cards", count=len(seen), details={"sdk": version})
