"""vLLM on the simulated Neuron, compiled and op by op, beside vLLM in tree on the CPU."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import measuring
from benchmarks.machine import cores, versions
from benchmarks.records import Run
from benchmarks.suite import Metric, Promise, Suite, Workload
from benchmarks.vllm_variants import ENVIRONMENTS, IN_TREE, ON
from tools.checkpoint import NAME, checkpoint

TIMEOUT = 900.0  # seconds for one process: the first one compiles all
TOKENS, QUICK_TOKENS = 48, 8
COMPILED, EAGER = "simulated Neuron, compiled", "simulated Neuron, op by op"
THREADS = {"OMP_NUM_THREADS": str(cores())}
SIMULATED = ENVIRONMENTS[ON] | THREADS | {"ACCELPLUG_SIMULATE": "neuron"}
WAYS: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    IN_TREE: (ENVIRONMENTS[IN_TREE] | THREADS | {"VLLM_CPU_OMP_THREADS_BIND": "nobind"}, {}),
    COMPILED: (SIMULATED, {"additional_config": {"accelplug": {"compile": True}}}),
    EAGER: (SIMULATED, {"enforce_eager": True}),
}
METRICS = (
    Metric("decode_tokens_per_s", "answers: tokens/s", 0),
    Metric("mixed_tokens_per_s", "mixed: tokens/s", 0),
    Metric("load_s", "load, s", 1),
)


def measure(model: Path, tokens: int, variant: str, number: int) -> Run:
    """One process; what it has compiled stays in torch's and vLLM's caches for the next."""
    environ, options = WAYS[variant]
    given = (model, json.dumps(options), tokens)
    return measuring.run(variant, number, measuring.measured("throughput.py", *given, environ=environ, timeout=TIMEOUT))


@contextlib.contextmanager
def prepare(quick: bool) -> Iterator[Workload]:
    tokens = QUICK_TOKENS if quick else TOKENS
    yield Workload(functools.partial(measure, checkpoint(), tokens), versions(("accelplug", "vllm", "torch")))


SUITE = Suite(
    name="simulated",
    title="vLLM on the simulator",
    about=f"{NAME}, float32, `LLM(…)` with 16 requests at once, all cores computing on both sides (in tree keeps one "
    "free unless told otherwise) and the rest as each does it by default: in tree that is torch.compile, and a worker "
    "in a process of its own. *Compiled* is `compile` among accelplug's options, *op by op* is `enforce_eager`. "
    f"*Answers*: prompts of 8 to 48 random tokens, {TOKENS} tokens each. *Mixed*: every other prompt has 100 to 500 "
    "tokens, and answers are half as long to as long. After one `generate` of the same size to warm up. The "
    "simulator's kernels are PyTorch's for the CPU: the ratio is what native mode and the simulator cost. It says "
    "nothing about the speed of a chip. Load is importing vLLM and starting the engine, with what was compiled in the "
    "cache from the second round on.",
    variants=(IN_TREE, COMPILED, EAGER),
    metrics=METRICS,
    comparisons=((COMPILED, IN_TREE), (EAGER, IN_TREE)),
    prepare=prepare,
    promises=(
        Promise("answers: most of the speed in tree", "decode_tokens_per_s", COMPILED, IN_TREE, at_least=0.7),
        Promise("mixed: most of the speed in tree", "mixed_tokens_per_s", COMPILED, IN_TREE, at_least=0.7),
    ),
    same_outputs=True,
)
