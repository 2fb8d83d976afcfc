"""vLLM 0.28 in tree, through accelplug, and through pace-vllm, whose newest supported vLLM that is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from benchmarks import generation
from benchmarks.machine import versions
from benchmarks.suite import Suite, Workload
from benchmarks.vllm_variants import IN_TREE, ON, PACE
from tools.versions.fetching import PACE_VERSION, PACE_VLLM, pace, wheel


@contextlib.contextmanager
def prepare(quick: bool) -> Iterator[Workload]:
    folders = (pace(), *wheel(PACE_VLLM).folders)
    found = versions(("accelplug", "vllm", "pace-vllm", "torch"), *folders)
    yield Workload(generation.measurer(quick, *folders), found)


SUITE = Suite(
    name="peers",
    title=f"Beside pace-vllm, on vLLM {PACE_VLLM}",
    about=f"{generation.ABOUT} All three on vLLM {PACE_VLLM}, the newest that pace-vllm {PACE_VERSION} supports; which "
    "plug-in vLLM loads is said with `VLLM_PLUGINS`. pace-vllm has attention and normalisation kernels of its own.",
    variants=(IN_TREE, ON, PACE),
    metrics=generation.METRICS,
    comparisons=((ON, IN_TREE), (PACE, IN_TREE), (ON, PACE)),
    prepare=prepare,
)
