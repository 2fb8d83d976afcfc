"""Compiled Llamas on the simulated devices, beside the same models compiled for the CPU."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from pathlib import Path

from benchmarks import measuring
from benchmarks.machine import versions
from benchmarks.records import Run
from benchmarks.suite import Metric, Promise, Suite, Workload
from tools.checkpoint import checkpoint

TIMEOUT = 900.0  # seconds for one process: the first one compiles all
CPU = "CPU, torch.compile"
DEVICES = {"simulated Neuron, accelplug.compile": "neuron", "simulated Spyre, accelplug.compile": "spyre"}
METRICS = (
    Metric("tiny_ms", "a pass of a 2-layer Llama, ms", 3),
    Metric("smollm2_ms", "a pass of SmolLM2-135M, ms", 2),
)


def measure(model: Path, passes: tuple[int, int], variant: str, number: int) -> Run:
    """One process; what it has compiled stays in torch's cache for the next."""
    device = DEVICES.get(variant)
    way, environ = ("accelplug", {"ACCELPLUG_SIMULATE": device}) if device else ("cpu", {})
    found = measuring.measured("compiled.py", way, model, *passes, environ=environ, timeout=TIMEOUT)
    return measuring.run(variant, number, found)


@contextlib.contextmanager
def prepare(quick: bool) -> Iterator[Workload]:
    passes = (20, 2) if quick else (500, 50)
    yield Workload(functools.partial(measure, checkpoint(), passes), versions(("accelplug", "torch", "transformers")))


SUITE = Suite(
    name="compiled",
    title="Compiled models on the simulator",
    about="Forward passes over 16 tokens in float32, each round in fresh processes. The simulator's kernels are the "
    "CPU's, so the ratio is what lending each tensor to them costs. It says nothing about the speed of a chip.",
    variants=(CPU, *DEVICES),
    metrics=METRICS,
    comparisons=tuple((device, CPU) for device in DEVICES),
    prepare=prepare,
    promises=tuple(
        Promise(f"{metric.title.removesuffix(', ms')}: {device} over the CPU", metric.key, device, CPU, at_most=1.15)
        for metric in METRICS
        for device in DEVICES
    ),
    same_outputs=True,
)
