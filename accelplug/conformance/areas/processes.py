"""A process that was forked from one with a live device says that it must be spawned; a spawned one works. (C16)"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from accelplug.conformance.checks import Skip, check, expect
from accelplug.conformance.programs import output
from accelplug.conformance.subject import Subject

FORKED = """
import os
live = accelplug.select({name!r})
torch.ones(2, device=live.torch_device).sum().item()
child = os.fork()
if not child:
    said = "nothing: the device was handed out"
    try:
        live.torch_device
    except Exception as error:
        said = f"{{type(error).__name__}}: {{error}}"
    os.write(1, said.encode())
    os._exit(0)
os.waitpid(child, 0)
print()
print(torch.ones(2, device=live.torch_device).sum().item())
"""

FORKED_AFTER_A_PROBE = """
import os, accelplug
accelplug.devices()
child = os.fork()
if not child:
    import torch
    live = accelplug.select({name!r})
    os.write(1, str(torch.ones(2, device=live.torch_device).sum().item()).encode())
    os._exit(0)
os.waitpid(child, 0)
"""

CHILD = """
def total(name):
    import accelplug, torch
    return torch.ones(3, device=accelplug.select(name).torch_device).sum().item()
"""

SPAWNED = """
import torch.multiprocessing
sys.path.insert(0, sys.argv[1])
from conformance_child import total
if __name__ == "__main__":
    with torch.multiprocessing.get_context("spawn").Pool({children}) as pool:
        print(*pool.map(total, [{name!r}] * {children}))
"""


def _forks() -> None:
    if sys.platform == "win32":
        raise Skip("there is no fork on this system")


@check("accelplug refuses the device in a forked child; don't hand tensors or handles around it")
def a_forked_child_gets_an_error_that_says_spawn(subject: Subject) -> dict[str, str]:
    _forks()
    if subject.spec.load is None:
        raise Skip("PyTorch has the device in tree, and guards it itself")
    said, still = output(FORKED.format(name=subject.name), live=subject.name).splitlines()
    expect(said.startswith("ForkedDeviceError") and "spawn" in said, f"the child got {said}")
    expect(still == "2.0", f"afterwards the parent computes {still}")
    return {"said": said}


@check("open nothing in a probe: a process that has only looked may be forked")
def a_child_forked_after_a_probe_can_use_the_device(subject: Subject) -> None:
    _forks()
    said = output(FORKED_AFTER_A_PROBE.format(name=subject.name))
    expect(said == "2.0", f"the child computes {said!r}")


@check("let the SDK be loaded in several processes of one program; or say DeviceSpec(exclusive=True)")
def spawned_children_have_the_device(subject: Subject) -> None:
    children = 1 if subject.exclusive else 2
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "conformance_child.py").write_text(CHILD)
        said = output(SPAWNED.format(name=subject.name, children=children), folder, PYTHONPATH=folder, limit=110)
    expect(said.split() == ["3.0"] * children, f"the children compute {said!r}")
