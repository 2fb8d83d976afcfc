"""Neuron's kernels, called through the table of a simulated device: the references run in their place."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest
from accelplug_neuron.kernels import kernels

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_each_kernel_runs_when_asked_for_with_its_references_result_and_in_a_graph(
    simulated: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    done = simulated(
        "neuron", "device_neuron_kernels.py", TORCHINDUCTOR_CACHE_DIR=str(tmp_path_factory.mktemp("inductor"))
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["calls"] == {str(kernel): 1 for kernel in kernels()}, done.stderr
    assert found["fell back in the graph"] == []
