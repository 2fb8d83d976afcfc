"""vLLM in tree against vLLM through accelplug, as a server under `vllm bench serve`."""

from __future__ import annotations

import contextlib
import functools
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import process
from benchmarks.machine import versions
from benchmarks.records import Run
from benchmarks.suite import BenchmarkError, Metric, Promise, Suite, Workload
from benchmarks.vllm_variants import ENVIRONMENTS, IN_TREE, OFF, ON
from tools.checkpoint import NAME, checkpoint
from tools.server import ServerError, serving

REQUESTS, QUICK_REQUESTS, AT_ONCE = 48, 16, 16
INPUT, OUTPUT = 64, 96  # tokens
TIMEOUT = 600.0  # seconds for one client; an idle two-core machine needs 40
VLLM = Path(sys.executable).with_name("vllm")  # not resolved: the environment's link is what marks it
SERVER = ("--max-model-len", "1024", "--gpu-memory-utilization", "0.2", "--enforce-eager")
METRICS = (
    Metric("tokens_per_s", "output tokens/s", 0),
    Metric("ttft_mean_s", "time to first token, mean, s", 2),
    Metric("ttft_median_s", "median, s", 2),
    Metric("start_s", "start, s", 1),
)


def measure(model: Path, requests: int, variant: str, number: int) -> Run:
    """Starts a server, lets the client send its requests, stops the server."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, start = Path(scratch), time.perf_counter()
        try:
            with serving(str(model), *SERVER, log=folder / "server", environ=ENVIRONMENTS[variant]) as server:
                started = time.perf_counter() - start
                # The client imports vLLM too: in tree for all, so that only the server differs.
                process.run(
                    _client(model, server.url, requests, folder), folder / "client", ENVIRONMENTS[IN_TREE], TIMEOUT
                )
        except ServerError as error:
            raise BenchmarkError(str(error)) from error
        said = json.loads((folder / "result.json").read_text())
    if said["completed"] != requests:
        raise BenchmarkError(f"{variant}: {said['completed']} of {requests} requests were answered")
    values = {
        "tokens_per_s": said["output_throughput"],
        "ttft_mean_s": said["mean_ttft_ms"] / 1e3,
        "ttft_median_s": said["median_ttft_ms"] / 1e3,
        "start_s": started,
    }
    return Run(variant=variant, round=number, values=values)


def _client(model: Path, url: str, requests: int, folder: Path) -> list[str]:
    options = {
        "backend": "openai",
        "base-url": url,
        "model": str(model),
        "dataset-name": "random",
        "random-input-len": INPUT,
        "random-output-len": OUTPUT,
        "num-prompts": requests,
        "max-concurrency": AT_ONCE,
        "num-warmups": 1,
        "seed": 0,
        "temperature": 0,
        "result-dir": str(folder),
        "result-filename": "result.json",
    }
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    return [str(VLLM), "bench", "serve", *words, "--ignore-eos", "--save-result", "--disable-tqdm"]


@contextlib.contextmanager
def prepare(quick: bool) -> Iterator[Workload]:
    if not VLLM.exists():
        raise BenchmarkError(f"no command {VLLM}; run `make setup`")
    requests = QUICK_REQUESTS if quick else REQUESTS
    yield Workload(functools.partial(measure, checkpoint(), requests), versions(("accelplug", "vllm", "torch")))


SUITE = Suite(
    name="http",
    title="Serving over HTTP",
    about=f"{NAME}, `vllm serve … {' '.join(SERVER)}`, measured by `vllm bench serve`: {REQUESTS} requests of {INPUT} "
    f"random tokens in and {OUTPUT} out, {AT_ONCE} at a time. The client runs on the same cores. Start is until "
    "`/health` answers.",
    variants=(IN_TREE, OFF, ON),
    metrics=METRICS,
    comparisons=((OFF, IN_TREE), (ON, IN_TREE)),
    prepare=prepare,
    promises=(
        Promise("as fast as in tree with the CPU defaults off", "tokens_per_s", OFF, IN_TREE, at_least=0.995),
        Promise("faster than in tree", "tokens_per_s", ON, IN_TREE, at_least=1.4),
        Promise("first token sooner than in tree", "ttft_mean_s", ON, IN_TREE, at_most=0.6),
    ),
)
