"""Checks the installation as a whole, and names the remedy for each finding.

Further checks come through the entry-point group ``accelplug.checks``: a function that takes a `Host` and returns or
yields `Finding` records.
"""

from accelplug.doctor.diagnosis import diagnose
from accelplug.doctor.finding import Action, Finding, Fix, FixError, Level, Report
from accelplug.doctor.repair import repair

__all__ = ["Action", "Finding", "Fix", "FixError", "Level", "Report", "diagnose", "repair"]
