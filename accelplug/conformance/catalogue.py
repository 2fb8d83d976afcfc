"""All areas there are: this package's, and those of other packages through ``accelplug.conformance_areas``.

An entry point of that group is a function without arguments that returns a sequence of `Area`. It imports no module of
checks, and nothing of what they are about.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint

from accelplug import entry_points
from accelplug.conformance.areas import AREAS
from accelplug.conformance.areas.area import Area
from accelplug.errors import AccelplugError, BadInputError, did_you_mean

ENTRY_POINTS = "accelplug.conformance_areas"


def areas() -> tuple[Area, ...]:
    """Those of this package, then the others' by the names of their entry points.

    Raises AccelplugError, naming the package, where one can't say which areas it brings: a report without them would
    look as if there were none.
    """
    found = {area.name: area for area in AREAS}
    for entry_point in entry_points.of_group(ENTRY_POINTS):
        for area in _brought(entry_point):
            if area.name in found:
                raise AccelplugError(
                    f"{entry_points.origin(entry_point)} brings an area {area.name!r}, which is there already"
                )
            found[area.name] = area
    return tuple(found.values())


def names() -> list[str]:
    """Of all areas, in their order. Raises as `areas`."""
    return [area.name for area in areas()]


def find(wanted: Sequence[str]) -> tuple[Area, ...]:
    """The named areas in their own order, all where none is named. Raises BadInputError with the nearest name."""
    known = areas()
    of_name = [area.name for area in known]
    for name in wanted:
        if name not in of_name:
            raise BadInputError(f"unknown area {name!r}{did_you_mean(name, of_name)}; known: {', '.join(of_name)}")
    return tuple(area for area in known if not wanted or area.name in wanted)


def _brought(entry_point: EntryPoint) -> Sequence[Area]:
    try:
        brought: Sequence[Area] = entry_point.load()()
    except (Exception, SystemExit) as error:
        why = f"{type(error).__name__}: {error}"
        raise AccelplugError(
            f"the areas of conformance of {entry_points.origin(entry_point)} can't be listed: {why}"
        ) from error
    return brought
