"""What of an earlier report need not be found again."""

from __future__ import annotations

from accelplug.conformance.catalogue import areas
from accelplug.conformance.records import AreaReport, ConformanceReport
from accelplug.notices import warn_once

SAME = ("device", "simulated", "verdict", "system", "python", "details", "quick", "only")


def reusable(kept: ConformanceReport, now: ConformanceReport) -> dict[str, AreaReport]:
    """The areas of ``kept`` whose checks would be the same, and would run the same software on the same device.

    ``now`` is a report without areas. Warns where nothing can be used, with what is another now.
    """
    if other := [name for name in SAME if getattr(kept, name) != getattr(now, name)]:
        warn_once(f"what is kept was found with another {', '.join(other)}: everything is run again")
        return {}
    known = {area.name: area for area in areas()}
    brought = {area.module.partition(".")[0] for area in known.values()} | {area.needs for area in known.values()}

    def as_before(found: AreaReport) -> bool:
        """Software that only other areas are about, or come from, may have changed."""
        area = known.get(found.name)
        if area is None or found.version != area.version:
            return False
        own = {"accelplug", area.module.partition(".")[0], area.needs}
        matters = (kept.content.keys() | now.content.keys()) - (brought - own)
        return all(kept.content.get(name) == now.content.get(name) for name in matters)

    same = {area.name: area for area in kept.areas if as_before(area)}
    if kept.areas and not same:
        changed = [name for name in now.content if kept.content.get(name) != now.content[name]]
        warn_once(f"what is kept was found with another {', '.join(changed) or 'suite'}: everything is run again")
    return same
