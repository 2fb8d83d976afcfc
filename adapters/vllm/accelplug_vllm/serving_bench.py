"""What ``accelplug bench`` asks of vLLM: requests of one length, all at once, through vLLM's own benchmark.

In a process of its own, as `vllm bench throughput` by hand would be, on one device and with vLLM's defaults; but each
device gets a KV cache of the same size, in which all requests have room.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from accelplug.bench.records import ModelSizes, Serving

REQUESTS, INPUT, OUTPUT = 32, 128, 64
LONGEST = INPUT + OUTPUT + 64  # what the model has to have room for
TIME = 1800.0  # seconds that it may take, with loading and compiling
EXCEPTION = re.compile(r"\b\w+(?:Error|Exception): .+")
LAST_LINE = re.compile(r".+\s*\Z")


def serving(device: str, model: str, sizes: ModelSizes, dtype: str) -> Serving:
    """Tokens a second of ``model`` on ``device``; where vLLM fails, what it said last."""
    with tempfile.TemporaryDirectory(prefix="accelplug-bench-") as folder:
        result, log = Path(folder, "result.json"), Path(folder, "log.txt")
        try:
            with log.open("wb") as stream:
                code = subprocess.run(
                    _command(model, dtype, _cache_bytes(sizes, dtype), result),
                    env={**os.environ, "ACCELPLUG_DEVICE": device},
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    timeout=TIME,
                    check=False,
                ).returncode
        except subprocess.TimeoutExpired:
            return _failed(f"vLLM took longer than {TIME:g} s", log)
        if code or not result.exists():
            return _failed(f"vLLM ended with code {code}", log)
        numbers = json.loads(result.read_text(encoding="utf-8"))
    return Serving(
        requests=REQUESTS,
        input_tokens=INPUT,
        output_tokens=OUTPUT,
        tokens_per_second=numbers["tokens_per_second"],
        requests_per_second=numbers["requests_per_second"],
    )


def _cache_bytes(sizes: ModelSizes, dtype: str) -> int:
    element = 4 if dtype == "float32" else 2
    token = 2 * sizes.layers * sizes.kv_heads * sizes.head_size * element
    return 2 * REQUESTS * LONGEST * token  # twice, as caches are divided into blocks


def _command(model: str, dtype: str, cache: int, result: Path) -> list[str]:
    sizes = {
        "--num-prompts": REQUESTS,
        "--random-input-len": INPUT,
        "--random-output-len": OUTPUT,
        "--kv-cache-memory-bytes": cache,
    }
    return [
        *(sys.executable, "-m", "vllm.entrypoints.cli.main", "bench", "throughput"),
        *("--model", model, "--dtype", dtype, "--max-model-len", str(LONGEST), "--num-warmups", "1"),
        *("--dataset-name", "random", "--output-json", str(result)),
        *(text for option, value in sizes.items() for text in (option, str(value))),
    ]


def _failed(what: str, log: Path) -> Serving:
    """vLLM's processes each say that another one failed, after the one that failed has said why: the first is why."""
    said = log.read_text(encoding="utf-8", errors="replace")
    why = EXCEPTION.search(said) or LAST_LINE.search(said)
    error = f"{what}: {why[0].strip()}" if why else what
    return Serving(requests=REQUESTS, input_tokens=INPUT, output_tokens=OUTPUT, error=error)
