"""Runs the programs with one version of vLLM, each in a process group of its own that leaves nothing behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from accelplug_vllm.tiny.models import checkpoint
from openai import OpenAI, OpenAIError

from accelplug.sim import build
from tools.installing import search_path
from tools.server import ServerError, serving
from tools.versions.fetching import Version

ROOT = Path(__file__).parents[2]
LOGS = ROOT / "build" / "versions"  # of what crashed
SECONDS = 400
QUIET = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
}
PLATFORM = "from vllm.platforms import current_platform; print(type(current_platform).__name__)"
DOCTOR = "import sys; sys.argv = ['accelplug', 'doctor', '--json']; from accelplug.cli import main; main()"
SERVE = ("--max-model-len", "128", "--max-num-seqs", "4", "--enforce-eager", "--kv-cache-memory-bytes", "32M")


class RunError(Exception):
    """What a run ended with, in a line."""


def environment(version: Version, *before: Path) -> dict[str, str]:
    """Python's path: ``before``, the version, this repository, and what it was."""
    return search_path(*before, *version.folders, ROOT)


def smoke(version: Version, options: Mapping[str, Any], *, device: str) -> dict[str, Any]:
    """What `smoke` prints, on the CPU or on a simulated device. Raises RunError."""
    build.library()  # so that no run waits for it
    command = ["-m", "tools.versions.smoke", str(checkpoint("llama")), json.dumps(options)]
    said: dict[str, Any] = json.loads(_run(command, version, {**QUIET, **_asks(device)})[-1])
    if said["version"].partition("+")[0] != version.name:
        raise RunError(f"vLLM {said['version']} ran in the place of {version.name}")
    return said


def doctor(version: Version) -> dict[str, Any]:
    """The report of `accelplug doctor --json`."""
    report: dict[str, Any] = json.loads("\n".join(_run(["-c", DOCTOR], version, {}, statuses=(0, 1))))
    return report


def platform(version: Version, *beside: Path, device: str) -> str:
    """The class of vLLM's platform where other packages are installed beside."""
    return _run(["-c", PLATFORM], version, {**QUIET, **_asks(device)}, *beside)[-1]


def served(version: Version) -> str:
    """The answer of `vllm serve --device cpu` to a prompt, over HTTP."""
    model = str(checkpoint("llama"))
    with tempfile.TemporaryDirectory(prefix="accelplug-versions-") as folder:
        log = Path(folder) / "server.log"
        environ = environment(version) | QUIET | {"VLLM_ENABLE_V1_MULTIPROCESSING": "1"}
        try:
            with serving(model, *SERVE, "--device", "cpu", log=log, environ=environ, timeout=SECONDS) as server:
                client = OpenAI(base_url=f"{server.url}/v1", api_key="none")
                answer = client.completions.create(model=model, prompt="Hello", max_tokens=4, temperature=0)
        except (ServerError, OpenAIError) as error:
            raise RunError(last_words(str(error))) from None
    return answer.choices[0].text


def _asks(device: str) -> dict[str, str]:
    """For the CPU, or for a simulated device."""
    return {"ACCELPLUG_DEVICE": "cpu"} if device == "cpu" else {"ACCELPLUG_SIMULATE": device}


def _run(
    command: list[str], version: Version, environ: Mapping[str, str], *before: Path, statuses: tuple[int, ...] = (0,)
) -> list[str]:
    """The lines that a Python program prints. Raises RunError where it ends with another status, or doesn't end."""
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, **environment(version, *before), **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        said, complained = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise RunError(f"it did not end within {SECONDS} s") from None
    finally:
        with contextlib.suppress(ProcessLookupError):  # none left: the usual case
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.returncode not in statuses:
        log = LOGS / f"{version.name}-{datetime.now():%H%M%S}.log"
        LOGS.mkdir(parents=True, exist_ok=True)
        log.write_text(complained)
        raise RunError(f"{last_words(complained) or f'it ended with {process.returncode}'} ({log.relative_to(ROOT)})")
    return said.splitlines()


def last_words(text: str) -> str:
    """The line of a log that says what went wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line.split(":")[0]]
    return (errors or lines or [""])[-1]
