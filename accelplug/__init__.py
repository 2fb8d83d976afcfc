"""accelplug: one plug-in layer between AI accelerators and PyTorch/vLLM.

>>> import accelplug
>>> dev = accelplug.auto()          # the best usable device, made live
>>> dev.torch_device
device(type='cpu')

Importing this package imports neither torch nor a backend; the names below load what they need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accelplug.activation import Device
    from accelplug.api import auto, devices, explain, select
    from accelplug.buckets import Buckets
    from accelplug.compiling import compile
    from accelplug.errors import (
        AccelplugError,
        BadInputError,
        DeviceUnusableError,
        FallbackRefusedError,
        ForkedDeviceError,
        UnknownDeviceError,
    )
    from accelplug.hookspecs import hookimpl
    from accelplug.op_explanation import explain_op
    from accelplug.specs import Candidate, Explanation, FallbackReport, Selection, Verdict
    from accelplug.tables.fallback import fallback, fallback_report
    from accelplug.tables.scope import kernels
    from accelplug.tracing.recording import trace

__version__ = "0.1.0"

_HOME = {
    "Device": "accelplug.activation",
    "auto": "accelplug.api",
    "devices": "accelplug.api",
    "explain": "accelplug.api",
    "select": "accelplug.api",
    "Buckets": "accelplug.buckets",
    "compile": "accelplug.compiling",
    "AccelplugError": "accelplug.errors",
    "BadInputError": "accelplug.errors",
    "DeviceUnusableError": "accelplug.errors",
    "FallbackRefusedError": "accelplug.errors",
    "ForkedDeviceError": "accelplug.errors",
    "UnknownDeviceError": "accelplug.errors",
    "explain_op": "accelplug.op_explanation",
    "hookimpl": "accelplug.hookspecs",
    "Candidate": "accelplug.specs",
    "Explanation": "accelplug.specs",
    "FallbackReport": "accelplug.specs",
    "Selection": "accelplug.specs",
    "Verdict": "accelplug.specs",
    "fallback": "accelplug.tables.fallback",
    "fallback_report": "accelplug.tables.fallback",
    "kernels": "accelplug.tables.scope",
    "trace": "accelplug.tracing.recording",
}

__all__ = [
    "AccelplugError",
    "BadInputError",
    "Buckets",
    "Candidate",
    "Device",
    "DeviceUnusableError",
    "Explanation",
    "FallbackRefusedError",
    "FallbackReport",
    "ForkedDeviceError",
    "Selection",
    "UnknownDeviceError",
    "Verdict",
    "auto",
    "compile",
    "devices",
    "explain",
    "explain_op",
    "fallback",
    "fallback_report",
    "hookimpl",
    "kernels",
    "select",
    "trace",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'accelplug' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
