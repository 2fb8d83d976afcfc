"""C16: looking for devices opens none, and a device that is live in a parent is not used in its forked child."""

from __future__ import annotations

from pathlib import Path

import gpu_trees
from backend_site import HEAD, Site
from processes import Run

OPENS = """
import os, sys
opened, done = [], []
def watch(event, args):
    if event == "open" and isinstance(args[0], (str, bytes, os.PathLike)):
        opened.append(os.fspath(args[0]))
    elif event in ("ctypes.dlopen", "os.fork", "subprocess.Popen", "socket.connect"):
        done.append(event)
from accelplug.probing import probe_all
from accelplug.settings import Settings
from accelplug.specs import Host
sys.addaudithook(watch)
host = Host({root!r}, site=[{site!r}])
print(*(c.verdict for c in probe_all(Settings(), host) if c.name == "cuda"))
print(*(c.name for c in probe_all(Settings())))
print(*(path for path in opened if "/dev/" in str(path)), *done)
print(any("nvidia/version" in str(path) for path in opened))
"""


def test_c16_probing_opens_no_device(tmp_path: Path, python: Run) -> None:
    host = gpu_trees.cuda_box(tmp_path)

    done = python(OPENS.format(root=str(host.root), site=host.site[0]))

    verdict, names, reached, watched = done.stdout.splitlines()
    assert verdict == "usable"
    assert "cpu" in names
    assert reached == ""
    assert watched == "True"  # the files that probes do read are seen by the hook


FORKS = """
import accelplug, os, sys
device = accelplug.auto()
if os.fork() == 0:
    for use in (lambda: device.torch_device, accelplug.auto, lambda: accelplug.select("acme")):
        try:
            print(use())
        except accelplug.ForkedDeviceError as error:
            print(error)
    sys.stdout.flush()
    os._exit(0)
os.wait()
print(device.name)
"""


def test_c16_a_forked_child_that_uses_a_live_device_is_told_to_spawn(site: Site, python: Run) -> None:
    spec = "@hookimpl\ndef accelplug_device():\n    return DeviceSpec(name='acme', title='', torch_type='cpu', "
    probe = "probe=lambda host: Probe(verdict='usable', reason='', count=1), priority=900, load=lambda: None)\n"
    site.module("acme", HEAD + spec + probe)

    *refusals, parent = python(FORKS, PYTHONPATH=str(site.folder)).stdout.splitlines()

    assert parent == "acme"
    assert len(refusals) == 3
    for refusal in refusals:
        assert "acme was made live in process" in refusal
        assert "multiprocessing.get_context('spawn')" in refusal
