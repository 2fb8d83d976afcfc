"""The real SmolLM2 checkpoint on both simulated devices: the CPU's tokens, eagerly and compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

PROGRAM = Path(__file__).with_name("device_generation.py")

# Among what the profiles say the CPU runs: rotary angles, the choice of a token, indices.
FELL_BACK = {"neuron": set(), "spyre": {"aten::cos", "aten::sin", "aten::argmax", "aten::index_select"}}
FELL_BACK_IN_GRAPHS = {"neuron": set(), "spyre": {"aten::cos", "aten::sin", "aten::embedding"}}


@pytest.mark.parametrize("device", ["neuron", "spyre"])
def test_smollm2_gives_the_cpus_tokens_eagerly_and_compiled(checkpoint: Path, device: str) -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(checkpoint), "8"],
        env={**os.environ, "ACCELPLUG_SIMULATE": device, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert "Paris" in found["text"]
    assert found["eager"] == found["cpu"]
    assert found["compiled"] == found["cpu"]
    assert found["graphs"] == {f"graphs compiled for {device}": 1}, "the decoding step"
    assert FELL_BACK[device] <= found["fell_back"].keys()
    assert FELL_BACK_IN_GRAPHS[device] <= found["fell_back_in_graphs"].keys()
    assert bool(found["fell_back"]) is (device == "spyre"), "Neuron's profile runs all of a greedy generation itself"
