"""Conformance: what of PyTorch works on a device, checked area by area. ``accelplug conform`` is this.

>>> report = accelplug.conformance.run("acme")
>>> report.ok, report.counts, report.wrong()

`areas` lists what is examined; each area is a module of checks that read as statements. Each runs in a process of its
own, so a crash is a finding. Importing this package imports neither torch nor a backend.
"""

from accelplug.conformance.areas import AREAS
from accelplug.conformance.areas.area import Area
from accelplug.conformance.records import AreaReport, Check, ConformanceReport, Outcome, Standing
from accelplug.conformance.suite import run

__all__ = ["AREAS", "Area", "AreaReport", "Check", "ConformanceReport", "Outcome", "Standing", "run"]
