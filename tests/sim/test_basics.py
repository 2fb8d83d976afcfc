"""Ordinary PyTorch on the simulated device gives what the CPU gives, bit for bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import device_basics
import pytest
from eager_case import CASES, NEURON_ONLY


@pytest.fixture(scope="module")
def failures(library: Path, request: pytest.FixtureRequest) -> dict[str, str]:
    """The traceback of each case that failed, of one process that runs them all on the device."""
    done = subprocess.run(
        [sys.executable, device_basics.__file__],
        env={**os.environ, "ACCELPLUG_SIMULATE": request.param},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("failures", ["neuron"], indirect=True)
@pytest.mark.parametrize("name", CASES)
def test_on_neuron(name: str, failures: dict[str, str]) -> None:
    assert name not in failures, failures[name]


@pytest.mark.parametrize("failures", ["spyre"], indirect=True)
@pytest.mark.parametrize("name", sorted(CASES.keys() - NEURON_ONLY))
def test_on_spyre(name: str, failures: dict[str, str]) -> None:
    assert name not in failures, failures[name]
