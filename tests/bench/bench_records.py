"""Runs made by hand, for what is worked out from them."""

from __future__ import annotations

from typing import Any

from accelplug.bench import Bench, DeviceBench, Measured, Roofline
from accelplug.bench.records import ModelSizes, Setup
from accelplug.specs import RanOn

SIZES = ModelSizes(
    name="tiny", hidden=64, layers=2, heads=4, kv_heads=2, head_size=16, intermediate=128, vocabulary=256
)
# 1 GB/s, 1 Tflop/s, a microsecond a call
LIMITS = Roofline(bytes_per_second=1e9, flops_per_second=1e12, call_seconds=1e-6)


def workload(name: str, seconds: float, **fields: Any) -> Measured:
    """One that moves 1 MB, and so takes a millisecond at the limit of memory."""
    given: dict[str, Any] = {"per_step": 2, "flops": 0, "bytes": 10**6, **fields}
    return Measured(step="decode", name=name, seconds=seconds, least=seconds, greatest=seconds, **given)


def device(name: str, *measured: Measured, simulated: bool = False) -> DeviceBench:
    return DeviceBench(
        device=name,
        title=name.title(),
        simulated=simulated,
        ran_on=RanOn.nothing,
        backend=f"{name} 1.0",
        roofline=LIMITS,
        measured=measured,
    )


def run(*devices: DeviceBench, **setup: Any) -> Bench:
    given: dict[str, Any] = {
        "model": SIZES,
        "dtype": "float32",
        "devices": tuple(each.device for each in devices),
        "quick": True,
        "accelplug": "0.1.0",
        "torch": "2.13.0",
        "system": "Linux",
        **setup,
    }
    return Bench(setup=Setup(**given), started="2026-01-01T00:00:00+00:00", complete=True, devices=devices)
