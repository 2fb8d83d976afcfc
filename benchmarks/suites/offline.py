"""vLLM in tree against vLLM through accelplug, generating without a server."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from benchmarks import generation
from benchmarks.machine import versions
from benchmarks.suite import Promise, Suite, Workload
from benchmarks.vllm_variants import IN_TREE, OFF, ON


@contextlib.contextmanager
def prepare(quick: bool) -> Iterator[Workload]:
    yield Workload(generation.measurer(quick), versions(("accelplug", "vllm", "torch")))


SUITE = Suite(
    name="offline",
    title="Generating offline",
    about=generation.ABOUT,
    variants=(IN_TREE, OFF, ON),
    metrics=generation.METRICS,
    comparisons=((OFF, IN_TREE), (ON, IN_TREE)),
    prepare=prepare,
    promises=(
        Promise("as fast as in tree with the CPU defaults off", "tokens_per_s", OFF, IN_TREE, at_least=0.995),
        Promise("faster than in tree", "tokens_per_s", ON, IN_TREE, at_least=1.35),
    ),
    same_outputs=True,
)
