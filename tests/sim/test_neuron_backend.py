"""What Neuron's backend says of its device, where that is simulated."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import accelplug_neuron
import pytest

from accelplug.sim import profile
from accelplug.sim.stand_in import beneath

Run = Callable[..., "subprocess.CompletedProcess[str]"]

VERSIONS = """
import accelplug, accelplug_neuron
accelplug.auto()
print(accelplug_neuron.accelplug_compiler().cache_key)
"""


def test_processes_on_simulated_devices_work_together_through_gloo() -> None:
    spec = accelplug_neuron.accelplug_device()
    assert beneath(spec, profile.find("neuron")).distributed_backend == "gloo"
    alone = spec.model_copy(update={"distributed_backend": ""})
    assert beneath(alone, profile.find("neuron")).distributed_backend == ""


@pytest.mark.parametrize("before", ["", "import torch._dynamo\n"])
@pytest.mark.usefixtures("library")
def test_the_simulated_sdks_version_is_in_the_cache_key_whatever_was_imported_before(python: Run, before: str) -> None:
    done = python(before + VERSIONS, ACCELPLUG_SIMULATE="neuron")
    assert done.stdout == "torch-neuronx 2.13.3+simulated\n", done.stderr
