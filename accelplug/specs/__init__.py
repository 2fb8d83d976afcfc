"""The records that cross the hooks: frozen, validated, and all that one stage knows of another."""

from accelplug.specs.attention import AttentionSpec
from accelplug.specs.capabilities import Capabilities, Feature
from accelplug.specs.compiler import CompilerSpec
from accelplug.specs.constraints import Constraints
from accelplug.specs.decompositions import Decompositions
from accelplug.specs.device import DeviceSpec, RanOn, Worker
from accelplug.specs.fallback import Budget, FallbackSource, OpCount, StepTransfers, Transfers, Watcher
from accelplug.specs.fallback_report import FallbackReport, FallbackRow
from accelplug.specs.host import Host
from accelplug.specs.kernel import Kernel, KernelCount, Level, TensorRule
from accelplug.specs.op_explanation import KernelOutcome, OpExplanation, Outcome
from accelplug.specs.platform import PlatformSpec
from accelplug.specs.probe import Probe, Verdict
from accelplug.specs.record import Record
from accelplug.specs.selection import Candidate, Explanation, Selection
from accelplug.specs.stand_in import StandIn

__all__ = [
    "AttentionSpec",
    "Budget",
    "Candidate",
    "Capabilities",
    "CompilerSpec",
    "Constraints",
    "Decompositions",
    "DeviceSpec",
    "Explanation",
    "FallbackReport",
    "FallbackRow",
    "FallbackSource",
    "Feature",
    "Host",
    "Kernel",
    "KernelCount",
    "KernelOutcome",
    "Level",
    "OpCount",
    "OpExplanation",
    "Outcome",
    "PlatformSpec",
    "Probe",
    "RanOn",
    "Record",
    "Selection",
    "StandIn",
    "StepTransfers",
    "TensorRule",
    "Transfers",
    "Verdict",
    "Watcher",
    "Worker",
]
