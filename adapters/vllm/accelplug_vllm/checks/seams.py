"""Is everything of vLLM and torch that the adapter uses there, and what is off where it isn't?"""

from __future__ import annotations

from collections.abc import Iterator

from accelplug.doctor import Finding, Level
from accelplug.specs import Host
from accelplug_vllm.checks.installed import distribution
from accelplug_vllm.compat import PARTS, installed

CHECK = "vllm seams"


def checks(host: Host) -> Iterator[Finding]:
    found = distribution(host)
    if found is None or host.package("vllm") is None or host.package("torch") is None:
        return
    source = installed.on(host)
    states = {f"{part.name}: {seam.name}": seam.missing(source) for part in PARTS for seam in part.seams}
    places = {seam for part in PARTS for seam in part.seams}
    there = sum(not seam.missing(source) for seam in places)
    yield Finding(
        check=CHECK,
        summary=f"{there} of {len(places)} places of vLLM {found.version} and torch that accelplug uses are there",
        details={name: reason or "there" for name, reason in states.items()},
    )
    for part in PARTS:
        if reason := installed.reason(part, source, found.version):
            yield Finding(
                check=CHECK,
                level=Level.warning,
                summary=f"{part.name} is off: {part.without}",
                remedy="docs/versions.md says with which versions of vLLM it works",
                details={"why": reason},
            )
