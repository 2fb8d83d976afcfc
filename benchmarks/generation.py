"""The workload of the suites without a server: `programs/generate.py` in a fresh process for each run."""

from __future__ import annotations

from pathlib import Path

from benchmarks import measuring
from benchmarks.records import Run
from benchmarks.suite import Measure, Metric
from benchmarks.vllm_variants import ENVIRONMENTS
from tools.checkpoint import NAME, checkpoint
from tools.installing import search_path

PROMPTS, TOKENS, QUICK_TOKENS = 16, 128, 32
TIMEOUT = 600.0  # seconds for one run; an idle two-core machine needs 40
METRICS = (Metric("tokens_per_s", "tokens/s", 0), Metric("load_s", "load, s", 1))
ABOUT = (
    f"{NAME}, bfloat16, `LLM(…, enforce_eager=True)`: {PROMPTS} prompts × {TOKENS} tokens at temperature 0, after one "
    "`generate` of the same size to warm up. Load is the import of vLLM and the start of the engine."
)


def measurer(quick: bool, *path: Path) -> Measure:
    """Measures a variant; ``path`` goes before what is installed."""
    given = (checkpoint(), PROMPTS, QUICK_TOKENS if quick else TOKENS)
    search = search_path(*path) if path else {}

    def measure(variant: str, number: int) -> Run:
        environ = ENVIRONMENTS[variant] | search
        found = measuring.measured("generate.py", *given, environ=environ, timeout=TIMEOUT)
        return measuring.run(variant, number, found)

    return measure
