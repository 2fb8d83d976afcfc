"""The records that cross the hooks: frozen, validated, and all that one stage knows of another."""

from accelplug.specs.compiler import CompilerSpec
from accelplug.specs.decompositions import Decompositions
from accelplug.specs.device import DeviceSpec, RanOn
from accelplug.specs.host import Host
from accelplug.specs.probe import Probe, Verdict
from accelplug.specs.record import Record
from accelplug.specs.selection import Candidate, Explanation, Selection
from accelplug.specs.stand_in import StandIn

__all__ = [
    "Candidate",
    "CompilerSpec",
    "Decompositions",
    "DeviceSpec",
    "Explanation",
    "Host",
    "Probe",
    "RanOn",
    "Record",
    "Selection",
    "StandIn",
    "Verdict",
]
