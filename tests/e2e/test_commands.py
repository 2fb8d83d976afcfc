"""The other ways in: vLLM's commands with ``--device``, ``LLM(device=…)``, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
VLLM = Path(sys.executable).with_name("vllm")


def run(*command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", **environ}
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, cwd=ROOT, env=environment, check=False
    )


def test_the_offline_example_answers() -> None:
    done = run("examples/offline.py")
    assert done.returncode == 0, done.stderr
    assert "Paris" in done.stdout


def test_the_pytorch_example_says_its_device() -> None:
    done = run("examples/pytorch.py")
    assert done.returncode == 0, done.stderr
    assert "cpu" in done.stdout


def test_bench_latency_takes_the_flag(checkpoint: Path) -> None:
    small = ["--input-len=8", "--output-len=8", "--batch-size=1", "--num-iters=1", "--num-iters-warmup=0"]
    engine = ["--enforce-eager", "--max-model-len", "256", "--gpu-memory-utilization", "0.2"]
    done = run(str(VLLM), "bench", "latency", "--model", str(checkpoint), "--device", "auto", *small, *engine)
    assert done.returncode == 0, done.stderr
    assert "Avg latency" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "environ", "code", "said"),
    [
        (("serve", "m", "--device", "neuron"), {}, 1, "neuron   no_hardware"),
        (("serve", "m"), {"ACCELPLUG_DEVICE": "spyre"}, 1, "spyre    no_hardware"),
        (("serve", "m", "--device=nuron"), {}, 2, "did you mean 'neuron'"),
        (("serve", "m", "--device", "cpu"), {"ACCELPLUG_DEVICE": "cuda"}, 2, "--device cpu and ACCELPLUG_DEVICE=cuda"),
    ],
)
def test_what_cannot_be_served_is_refused_with_a_message_and_no_traceback(
    arguments: tuple[str, ...], environ: dict[str, str], code: int, said: str
) -> None:
    done = run(str(VLLM), *arguments, **environ)
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
