"""A backend with kernels, to be installed for a test. Each kernel tells from its result that it has run.

Its device type is the CPU, so that the test's own process can have it, and its operator is the tests' own, so that
nobody else's calls are touched: ``kernel_tests::put(Tensor x, ...)`` returns ``x``, the kernels ``x`` plus a number.
"""

from __future__ import annotations

import torch
from backend_site import Site

import accelplug
from accelplug import tables
from accelplug.tables.kernels import KernelTable

SCHEMA = "put(Tensor x, Tensor? y=None, *, Scalar n=0, str mode='a', bool flag=False) -> Tensor"
OP = "kernel_tests::put"

library = torch.library.Library("kernel_tests", "DEF")
library.define(SCHEMA)
library.impl("put", lambda x, *args, **kwargs: x.clone(), "CompositeExplicitAutograd")
put = torch.ops.kernel_tests.put.default

SOURCE = """
import torch
from accelplug.hookspecs import hookimpl
from accelplug.specs import DeviceSpec, Kernel, Level, Probe, TensorRule

LOADED = []

def probe(host):
    return Probe(verdict="usable", reason="there", count=1)

def plus(number):
    def function(x, y=None, *, n=0, mode="a", flag=False):
        return x + number
    return function

def loads(function, name=""):
    def load():
        LOADED.append(name)
        return function
    return load

def raises(error):
    def function(x, y=None, *, n=0, mode="a", flag=False):
        raise error
    return function

def no_sdk():
    raise ImportError("acme_sdk is not installed")

def kernel(name="one", number=1, **given):
    return Kernel(**{
        "op": "kernel_tests::put", "provider": "acme", "name": name, "level": "tile",
        "load": loads(plus(number), name), "reference": plus(number), "ran_on": "hardware", **given,
    })

@hookimpl
def accelplug_device():
    return DeviceSpec(name="acme", title="Acme", torch_type="cpu", probe=probe)

@hookimpl
def accelplug_kernels():
    return [@KERNELS@]
"""


def install(site: Site, kernels: str) -> str:
    """Installs the backend with these kernels (source); returns its module."""
    return site.module("acme", SOURCE.replace("@KERNELS@", kernels))


def live(site: Site, kernels: str) -> KernelTable:
    """Installs the backend and makes its device live; returns its kernels."""
    install(site, kernels)
    accelplug.select("acme")
    found = tables.tables_for("cpu")
    assert found is not None
    return found.kernels
