"""Runs every check: the core's, then those of installed packages."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint

from accelplug.doctor import autoload, backends, configuration, torch_packages
from accelplug.doctor.finding import Finding, Level
from accelplug.entry_points import of_group, origin
from accelplug.specs import Host

ENTRY_POINTS = "accelplug.checks"
CORE: tuple[Callable[[Host], Iterable[Finding]], ...] = (
    configuration.checks,
    backends.checks,
    torch_packages.checks,
    autoload.checks,
)


def diagnose(host: Host) -> tuple[Finding, ...]:
    """All findings on this host. Another package's check that fails is a finding itself."""
    found = [finding for check in CORE for finding in check(host)]
    for entry_point in of_group(ENTRY_POINTS):
        found += _of_package(entry_point, host)
    return tuple(found)


def _of_package(entry_point: EntryPoint, host: Host) -> list[Finding]:
    try:
        return [*entry_point.load()(host)]
    except (Exception, SystemExit) as error:
        return [
            Finding(
                check=entry_point.name,
                level=Level.error,
                summary=f"the checks of {origin(entry_point)} failed: {type(error).__name__}: {error}",
                remedy=f"install another version of {origin(entry_point)}, or report it to its authors",
                details={"traceback": traceback.format_exc()},
            )
        ]
