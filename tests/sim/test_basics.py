"""Ordinary PyTorch on the simulated device gives what the CPU gives, bit for bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import device_basics
import pytest


@pytest.fixture(scope="module")
def failures(library: Path) -> dict[str, str]:
    """The traceback of each case that failed, of one process that runs them all."""
    done = subprocess.run(
        [sys.executable, device_basics.__file__],
        env={**os.environ, "ACCELPLUG_SIMULATE": "neuron"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("name", device_basics.CASES)
def test_on_the_device(name: str, failures: dict[str, str]) -> None:
    assert name not in failures, failures[name]
