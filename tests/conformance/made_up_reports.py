"""Reports of a device that isn't there, for what reads reports."""

from __future__ import annotations

from typing import Any

from accelplug.conformance import AreaReport, Check, ConformanceReport, Outcome, Standing, levels
from accelplug.specs import RanOn


def check(area: str, name: str, outcome: str = "passed", why: str = "", **data: Any) -> Check:
    return Check(area=area, name=name, outcome=Outcome(outcome), why=why, data=data)


def area(name: str, *checks: Check, version: str = "0" * 12) -> AreaReport:
    """An area with these checks, or with one that has passed."""
    return AreaReport(name=name, title=name.title(), version=version, checks=checks or (check(name, "it works"),))


def report(*areas: AreaReport, standing: Standing | None = None, **given: Any) -> ConformanceReport:
    values = {
        "device": "acme",
        "title": "Acme One",
        "simulated": True,
        "ran_on": RanOn.simulator,
        "verdict": "usable",
        "reason": "one card",
        "backend": "acme-accelplug 1.0",
        "accelplug": "1",
        "torch": "2",
        "python": "3",
        "system": "Linux",
        "started": "2026-11-30T00:00:00+00:00",
        "seconds": 3,
    }
    return ConformanceReport(**{**values, **given}, areas=areas, standing=standing or levels.standing(areas, sample=""))
