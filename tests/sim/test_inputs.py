"""Case C15 on simulated devices: offsets, strides, overlaps, 0-dim, 0-element and huge tensors, eager and compiled."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.mark.parametrize("device", ["neuron", "spyre"])
def test_every_layout_gives_the_values_of_the_cpu(simulated: Run, device: str) -> None:
    failures = json.loads(simulated(device, "device_inputs.py").stdout.splitlines()[-1])
    assert failures == {}, "\n".join(failures.values())


SHARED = """
def f(x, y):
    x.add_(1)
    return y.sum()
f = accelplug.compile(f)
f(torch.zeros(4, device=D), torch.zeros(4, device=D))
memory = torch.zeros(8, device=D)
try:
    f(memory[:4], memory[2:6])
except accelplug.AccelplugError as error:
    print(type(error).__name__, error)
print(f(memory[:4], memory[4:]).item(), memory.tolist())
"""


@pytest.mark.parametrize("device", ["neuron", "spyre"])
def test_views_that_share_memory_which_a_graph_writes_to_are_refused(simulated: Run, device: str) -> None:
    refused, taken = simulated(device, SHARED).stdout.splitlines()
    assert refused.startswith(f"CompileRefusedError inputs 0, 1 of a graph on {device}:0 share memory")
    assert taken == "0.0 [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]"


COPIES = """
f = accelplug.compile(lambda x: x.mul_(2))
base = torch.ones(4, 4, device=D)
f(base[0])
torch.ops.accelplug_sim.reset_counters()
f(base[0])
whole = torch.ops.accelplug_sim.read_transfers()
torch.ops.accelplug_sim.reset_counters()
f(base[1])
print([(b - a) for a, b in zip(whole, torch.ops.accelplug_sim.read_transfers())], base.sum().item())
"""


def test_on_spyre_an_input_with_an_offset_is_copied_and_copied_back(simulated: Run) -> None:
    """Two copies on the device, of 16 bytes each; none where a graph may begin anywhere."""
    assert simulated("spyre", COPIES).stdout == "[0, 0, 0, 0, 2, 32] 32.0\n"
    assert simulated("neuron", COPIES).stdout == "[0, 0, 0, 0, 0, 0] 32.0\n"
