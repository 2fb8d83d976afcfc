"""Times one operator of 16 elements that falls back to the CPU, in a process of its own.

`python fallback_calls.py MODE RESULT` writes RESULT, a JSON object of nanoseconds a call. MODE is "cpu" (on the CPU
itself), "allow", "warn" (and time measured), "budget" (one that isn't spent), or "stock" (PyTorch's own fallback).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import logging
import os
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

import torch

CALLS = 20_000
REPEATS = 15

# Its own profile: on the vendors' the operator is native.
PROFILE = 'name = "bench"\nnative = []\n'


def stock(folder: Path) -> None:
    """Builds the library with PyTorch's own fallback in ``folder``, and puts it in place."""
    root = Path(torch.__file__).parent
    made = folder / "stock.so"
    include = [f"-I{root / 'include'}", f"-I{root / 'include/torch/csrc/api/include'}"]
    source = str(Path(__file__).with_name("stock_fallback.cpp"))
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"
    compiler = os.environ.get("CXX", "c++")
    command = [compiler, "-std=c++20", "-O2", "-fPIC", "-shared", "-w", abi, *include, source, "-o", str(made)]
    subprocess.run([*command, f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10"], check=True)
    ctypes.CDLL(str(made)).use_stock_fallback()


def device(folder: Path) -> str:
    """Makes the simulated device live; its profile is written to ``folder``."""
    profile = folder / "bench.toml"
    profile.write_text(PROFILE)
    os.environ["ACCELPLUG_SIMULATE"] = str(profile)
    import accelplug

    return str(accelplug.auto())


def scope(mode: str) -> AbstractContextManager[None]:
    import accelplug

    if mode == "warn":
        logging.getLogger("accelplug").setLevel(logging.ERROR)
        return accelplug.fallback(policy="warn", time=True)
    return accelplug.fallback(calls=10**12, bytes="100GiB") if mode == "budget" else contextlib.nullcontext()


def nanoseconds(x: torch.Tensor) -> float:
    """The fastest of some repeats: what disturbs only adds."""
    best = float("inf")
    for _ in range(REPEATS):
        started = time.perf_counter_ns()
        for _ in range(CALLS):
            x.neg()
        best = min(best, (time.perf_counter_ns() - started) / CALLS)
    return best


if __name__ == "__main__":
    mode, result = sys.argv[1], Path(sys.argv[2])
    torch.set_num_threads(1)
    small = torch.ones(16)
    if mode != "cpu":
        small = small.to(device(result.parent))
    if mode == "stock":
        stock(result.parent)
    with torch.inference_mode(), scope(mode):
        measured = nanoseconds(small)
    result.write_text(json.dumps({"call_ns": measured}))
