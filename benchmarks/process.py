"""Runs a program in a process group of its own, with a time limit, and leaves none of its processes behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.suite import BenchmarkError

# A user's own settings of these would reach all variants, or only one; the suites set what they need.
FOREIGN = ("ACCELPLUG_", "VLLM_", "OMP_", "KMP_", "GOMP_", "LD_PRELOAD")
QUIET = {"HF_HUB_OFFLINE": "1", "VLLM_LOGGING_LEVEL": "WARNING", "VLLM_NO_USAGE_STATS": "1"}
LAST_LINES = 25


def clean_environment() -> None:
    """Makes this process's environment the one that all measured processes start from."""
    for name in [name for name in os.environ if name.startswith(FOREIGN)]:
        del os.environ[name]
    os.environ.update(QUIET)


def run(command: Sequence[str], log: Path, environ: Mapping[str, str], timeout: float) -> None:
    """Runs a command; ``environ`` is added to this process's. Raises BenchmarkError if it fails or takes too long."""
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environ},
            start_new_session=True,
        )
    try:
        code = process.wait(timeout)
    except subprocess.TimeoutExpired:
        raise BenchmarkError(_complaint(f"not finished after {timeout:.0f} s", command, log)) from None
    finally:
        with contextlib.suppress(ProcessLookupError):  # none left: the usual case
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if code:
        raise BenchmarkError(_complaint(f"ended with {code}", command, log))


def _complaint(what: str, command: Sequence[str], log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()[-LAST_LINES:]
    return "\n".join([f"{' '.join(command)}: {what}. The end of its output:", *("  " + line for line in lines)])
