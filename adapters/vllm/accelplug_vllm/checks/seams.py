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
    missing = {seam: seam.missing(source) for part in PARTS for seam in part.seams}
    there = sum(not reason for reason in missing.values())
    yield Finding(
        check=CHECK,
        summary=f"{there} of {len(missing)} places of vLLM {found.version} and torch that accelplug uses are there",
        details={f"{part.name}: {seam.name}": missing[seam] or "there" for part in PARTS for seam in part.seams},
    )
    for part in PARTS:
        if first := part.missing(source):
            yield Finding(
                check=CHECK,
                level=Level.warning,
                summary=f"{part.name} is off: {part.without}",
                remedy="docs/versions.md says with which versions of vLLM it works",
                details={"why": installed.reason(first, found.version)},
            )
