"""Threads, processes, and the one device that a process has."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

Run = Callable[..., "subprocess.CompletedProcess[str]"]

THREADS = """
import threading
errors = []
torch.set_num_threads(1)
def work(number):
    try:
        torch.neuron.set_device(number % 4)
        for _ in range(300):
            x = torch.randn(16, 16, device=D, requires_grad=True)
            (x @ x).relu().sum().backward()
            assert x.grad.device.index == number % 4
    except BaseException as error:
        errors.append(repr(error))
threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
names, values = torch.ops.accelplug_sim.read_counters()
print(errors, [calls for name, calls in zip(names, values[3::6]) if name == "aten::mm"])
"""


def test_eight_threads_on_four_devices_lose_no_count(simulated: Run) -> None:
    assert simulated("neuron", THREADS).stdout == f"[] {[2 * 300 * 3] * 4}\n"


def test_two_processes_reduce_gather_and_train_together(simulated: Run, tmp_path: Path) -> None:
    meeting = str(tmp_path / "meeting")
    with ThreadPoolExecutor() as pool:
        done = [*pool.map(lambda rank: simulated("neuron", "device_group.py", rank, meeting), "01")]
    assert [each.stdout for each in done] == ["talked\n"] * 2


SPYRE_AFTER_NEURON = """
import os
os.environ["ACCELPLUG_SIMULATE"] = "spyre"
try:
    accelplug.auto()
except accelplug.AccelplugError as error:
    print(type(error).__name__, error)
print(torch.ones(2, device=D).device, hasattr(torch, "spyre"), torch.accelerator.current_accelerator())
"""


def test_c10_a_second_name_is_refused_before_pytorch_is_touched(simulated: Run) -> None:
    refused, still = simulated("neuron", SPYRE_AFTER_NEURON).stdout.splitlines()
    assert refused.startswith("ActivationError spyre can't be made live in this process: 'neuron' has PyTorch's one")
    assert "in a new process" in refused
    assert still == "neuron:0 False neuron"


LIVE = """
import torch_neuronx
print(torch_neuronx.__doc__.splitlines()[0])
print(repr(dev), dev.torch_device, torch.ones(2, device=dev.torch_device).device)
second = accelplug.select("neuron", index=2)
print(second, torch.accelerator.current_device_index(), accelplug.auto() == dev)
"""


def test_the_backends_load_imports_a_stand_in_and_the_index_becomes_the_current_device(simulated: Run) -> None:
    doc, live, second = simulated("neuron", LIVE).stdout.splitlines()
    assert doc == "accelplug's stand-in for torch-neuronx: nothing of the vendor's is in here."
    assert live == "<accelplug device neuron as 'neuron', decided by ACCELPLUG_SIMULATE> neuron neuron:0"
    assert second == "neuron:2 2 True"


REAL_SDK_IS_THERE = """
import sys, types, accelplug
sys.modules["torch_neuronx"] = types.ModuleType("torch_neuronx")
try:
    accelplug.auto()
except accelplug.AccelplugError as error:
    print(error)
"""


def test_nothing_stands_in_for_an_sdk_that_is_already_imported(python: Run) -> None:
    said = python(REAL_SDK_IS_THERE, ACCELPLUG_SIMULATE="neuron").stdout
    assert "torch_neuronx is already imported" in said
    assert "TORCH_DEVICE_BACKEND_AUTOLOAD=0" in said


EXITS = """
held = torch.randn(8, 8, device=D, requires_grad=True)
torch.backends.held = [held, torch.Stream(device=D), torch.Event(device=D), torch.Generator(device=D)]
torch.randn(4).pin_memory()
import atexit
atexit.register(lambda: (held + 1, torch.accelerator.empty_cache(), torch.accelerator.empty_host_cache()))
held.pow(2).sum().backward()  # last, since autograd's thread is not done when this returns
{end}
"""


def test_a_process_that_still_holds_tensors_ends_with_the_code_it_should(simulated: Run) -> None:
    ends = [("neuron", ""), ("spyre", ""), ("neuron", "raise SystemExit(3)")]
    with ThreadPoolExecutor() as pool:
        done = [*pool.map(lambda end: simulated(end[0], EXITS.format(end=end[1]), ok=False), ends)]
    assert [(each.returncode, each.stderr) for each in done] == [(0, ""), (0, ""), (3, "")]


SPAWNED = """
import torch.multiprocessing, sys
sys.path.insert(0, {here!r})
from child import total
if __name__ == "__main__":
    with torch.multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(total))
"""


def test_a_spawned_process_gets_a_device_of_its_own(simulated: Run, tmp_path: Path) -> None:
    (tmp_path / "child.py").write_text(
        "def total():\n    import accelplug, torch\n"
        "    return torch.ones(3, device=accelplug.auto().torch_device).sum().item()\n"
    )
    assert simulated("neuron", SPAWNED.format(here=str(tmp_path))).stdout == "3.0\n"
