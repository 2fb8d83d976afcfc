"""The workload of the suites without a server: `programs/generate.py` in a fresh process for each run."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from benchmarks import process
from benchmarks.records import Run
from benchmarks.suite import Measure, Metric
from benchmarks.vllm_variants import ENVIRONMENTS
from tools.checkpoint import NAME, checkpoint

PROMPTS, TOKENS, QUICK_TOKENS = 16, 128, 32
TIMEOUT = 600.0  # seconds for one run; an idle two-core machine needs 40
PROGRAM = Path(__file__).parent / "programs" / "generate.py"
METRICS = (Metric("tokens_per_s", "tokens/s", 0), Metric("load_s", "load, s", 1))
ABOUT = (
    f"{NAME}, bfloat16, `LLM(…, enforce_eager=True)`: {PROMPTS} prompts × {TOKENS} tokens at temperature 0, after one "
    "`generate` of the same size to warm up. Load is the import of vLLM and the start of the engine."
)


def measurer(quick: bool, *path: Path) -> Measure:
    """Measures a variant; ``path`` goes before what is installed."""
    model = checkpoint()
    search = {"PYTHONPATH": os.pathsep.join([*map(str, path), os.environ.get("PYTHONPATH", "")])} if path else {}

    def measure(variant: str, number: int) -> Run:
        with tempfile.TemporaryDirectory() as scratch:
            result, log = Path(scratch) / "result.json", Path(scratch) / "log"
            tokens = QUICK_TOKENS if quick else TOKENS
            command = [sys.executable, str(PROGRAM), str(model), str(PROMPTS), str(tokens), str(result)]
            process.run(command, log, ENVIRONMENTS[variant] | search, TIMEOUT)
            measured = json.loads(result.read_text())
        return Run(variant=variant, round=number, outputs=measured.pop("outputs"), values=measured)

    return measure
