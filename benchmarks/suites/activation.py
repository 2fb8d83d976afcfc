"""What making a simulated device live costs, beside ending on the CPU."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from benchmarks import measuring
from benchmarks.machine import versions
from benchmarks.records import Run
from benchmarks.suite import Metric, Suite, Workload
from benchmarks.suites.selection import chosen

CPU = "accelplug.auto() on the CPU"
DEVICES = {"accelplug.auto() on simulated Neuron": "neuron", "accelplug.auto() on simulated Spyre": "spyre"}
METRICS = (
    Metric("import_ms", "import accelplug, fresh process, ms", 1),
    Metric("first_ms", "first auto(), torch already imported, ms", 1),
    Metric("again_ms", "next auto(), ms", 3),
)


def measure(variant: str, number: int) -> Run:
    environ = {"ACCELPLUG_SIMULATE": DEVICES[variant]} if variant in DEVICES else {}
    fresh = chosen(environ, "accelplug_auto")
    warm = chosen(environ, "accelplug_auto", "torch")
    return measuring.run(variant, number, {**warm, "import_ms": fresh["import_ms"]})


@contextlib.contextmanager
def prepare(quick: bool) -> Iterator[Workload]:
    for variant in (CPU, *DEVICES):  # once for nothing: the simulator is built, bytecode compiled
        measure(variant, 0)
    yield Workload(measure, versions(("accelplug", "torch")))


SUITE = Suite(
    name="activation",
    title="Making a device live",
    about="Each number from fresh processes with a warm page cache and a simulator that is built already.",
    variants=(CPU, *DEVICES),
    metrics=METRICS,
    comparisons=tuple((device, CPU) for device in DEVICES),
    prepare=prepare,
)
