"""What of an earlier report need not be found again."""

from __future__ import annotations

from accelplug.conformance.areas.area import Area
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
    same = {
        area.name: area for area in kept.areas if area.name in known and _as_before(area, known[area.name], kept, now)
    }
    if kept.areas and not same:
        changed = [name for name in now.content if kept.content.get(name) != now.content[name]]
        warn_once(f"what is kept was found with another {', '.join(changed) or 'suite'}: everything is run again")
    return same


def _as_before(found: AreaReport, area: Area, kept: ConformanceReport, now: ConformanceReport) -> bool:
    """Software that only other areas are about, or come from, may have changed."""
    elsewhere = {other.module.partition(".")[0] for other in areas()} | {other.needs for other in areas()}
    own = {"accelplug", area.module.partition(".")[0], area.needs}
    matters = (kept.content.keys() | now.content.keys()) - (elsewhere - own)
    return found.version == area.version and all(kept.content.get(name) == now.content.get(name) for name in matters)
