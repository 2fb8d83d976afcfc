"""A third party's backend with faults on purpose, over a simulated SDK that a profile describes."""

from __future__ import annotations

from backend_site import Site

PROFILE = """
name = "acme"
[machine.files]
"/dev/acme{n}" = ""
[sdk]
distribution = "torch-acme"
version = "1.0"
module = "torch_acme"
[faults]
wrong_answer_in = ["aten::sin"]
"""

SOURCE = """
import os
from accelplug.hookspecs import hookimpl
from accelplug.specs import Decompositions, DeviceSpec, Probe

def probe(host):
    return Probe(verdict="usable", reason="there", count=len(host.list("/dev", "acme.")))

def load():
    import torch, torch_acme
    global kept
    kept = torch.library.Library("aten", "IMPL")
    def missing(*args, **kwargs):
        raise NotImplementedError("there is no aten::trunc for acme")
    kept.impl("trunc", missing, "PrivateUse1")
@LOAD@

def doubled(x):
    return x * 2

def crashing(x):
    os.write(2, b"acme: assertion failed in the compiler\\n")
    os.abort()

@hookimpl
def accelplug_device():
    how = {"probe": probe, "load": load, "distributed_backend": "gloo"}
    return DeviceSpec(name="acme", title="Acme One", torch_type="acme", **how)

@hookimpl
def accelplug_decompositions():
    import torch
    aten = torch.ops.aten
    return Decompositions(add={
        aten.relu.default: lambda x: aten.clamp_min.default(x, 0),
        aten.sinc.default: crashing,
        aten.sgn.default: doubled,
        aten.trunc.default: lambda x: aten.sub.Tensor(x, aten.frac.default(x)),
    })
"""


def install(site: Site, load: str = "") -> None:
    """Installs the backend ``acme``. ``load`` is source that its load runs at the end."""
    site.module("acme", SOURCE.replace("@LOAD@", f"    {load}"), distribution="acme-accelplug")
