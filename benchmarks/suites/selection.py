"""What accelplug's import, its probes and its choice cost, beside other libraries that detect devices."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from benchmarks import measuring
from benchmarks.machine import versions
from benchmarks.records import Run
from benchmarks.suite import Metric, Promise, Suite, Workload
from tools.installing import overlay, search_path

TIMEOUT = 120.0  # seconds for one program
DEEPSPEED = "0.19.8"
DEVICES = "accelplug.devices()"
TORCH = "torch.accelerator.current_accelerator(check_available=True)"
LIBRARIES = {
    DEVICES: "accelplug_devices",
    "accelplug.auto()": "accelplug_auto",
    TORCH: "torch_accelerator",
    "DeepSpeed's get_accelerator()": "deepspeed",
    "accelerate's PartialState().default_device": "accelerate",
}
METRICS = (
    Metric("total_ms", "import and answer, fresh process, ms", 1),
    Metric("torch_total_ms", "the same, torch already imported, ms", 2),
    Metric("again_ms", "next answer, ms", 3),
)


def measure(search: dict[str, str], variant: str, number: int) -> Run:
    """One process that has imported nothing, one that has imported torch; for accelplug, one more that probes."""
    library = LIBRARIES[variant]
    fresh = chosen(search, library)
    warm = chosen(search, library, "torch")
    values = {
        "total_ms": fresh["import_ms"] + fresh["first_ms"],
        "torch_total_ms": warm["import_ms"] + warm["first_ms"],
        "again_ms": warm["again_ms"],
    }
    if variant == DEVICES:
        values |= measuring.measured("probe.py", environ={}, timeout=TIMEOUT)
    return measuring.run(variant, number, values)


def chosen(environ: dict[str, str], *arguments: str) -> dict[str, Any]:
    """What it took one library to choose a device."""
    return measuring.measured("choose.py", *arguments, environ=environ, timeout=TIMEOUT)


@contextlib.contextmanager
def prepare(quick: bool) -> Iterator[Workload]:
    deepspeed = overlay(f"deepspeed-{DEEPSPEED}", f"deepspeed=={DEEPSPEED}", "hjson", "msgpack")
    search = search_path(deepspeed)
    for variant in LIBRARIES:  # once for nothing: bytecode is compiled, files are in the page cache
        measure(search, variant, 0)
    found = versions(("accelplug", "torch", "accelerate", "deepspeed"), deepspeed)
    yield Workload(functools.partial(measure, search), found)


SUITE = Suite(
    name="selection",
    title="Choosing a device",
    about="Each number from fresh processes with a warm page cache. `accelplug.devices()` probes every backend anew on "
    "each call, `accelplug.auto()` returns a `torch.device` and imports torch for it; the others keep their first "
    "answer or ask torch. accelplug reports on all its backends with reasons, the others name one device.",
    variants=tuple(LIBRARIES),
    metrics=METRICS,
    comparisons=tuple((other, DEVICES) for other in LIBRARIES if other != DEVICES),
    prepare=prepare,
    promises=(
        Promise("`import accelplug`, ms", "import_ms", DEVICES, at_most=30),
        Promise("all backends probed, by the probes' own clocks, ms", "probes_ms", DEVICES, at_most=50),
        Promise("all backends probed and one chosen, modules loaded, ms", "choose_ms", DEVICES, at_most=50),
    ),
)
