"""Every op that PyTorch has samples of (OpInfo) gives on the device what it gives on the CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import device_opinfo
import pytest

# PyTorch itself wants this op's indices on the CPU, on any device.
WRONG_ON_EVERY_DEVICE = {"tensor_split"}


@pytest.fixture(scope="module")
def report(library: object) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, device_opinfo.__file__],
        env={**os.environ, "ACCELPLUG_SIMULATE": "neuron"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_forward_is_right_for_at_least_641_of_642_ops(report: dict[str, Any]) -> None:
    forward = report["forward"]
    assert forward["wrong"].keys() <= WRONG_ON_EVERY_DEVICE, forward["wrong"]
    assert forward["checked"] >= 642


def test_backward_is_right_for_at_least_527_of_528_ops(report: dict[str, Any]) -> None:
    backward = report["backward"]
    assert backward["wrong"].keys() <= WRONG_ON_EVERY_DEVICE, backward["wrong"]
    assert backward["checked"] >= 528
