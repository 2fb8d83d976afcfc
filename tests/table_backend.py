"""A backend with tables, to be installed for a test: its decompositions tell from a result which of them was used.

``median`` of ``[5, 1, 3]`` is 3. A table can turn it into the smallest or the largest instead. Neither needs the C++
compiler, as Inductor calls PyTorch's kernels for all three.
"""

from __future__ import annotations

import importlib
from typing import Any

import torch
from backend_site import Site

import accelplug

SOURCE = """
import torch
from accelplug.hookspecs import hookimpl
from accelplug.specs import CompilerSpec, Decompositions, DeviceSpec, Probe

aten = torch.ops.aten
ASKED = []
SEEN = []

def probe(host):
    return Probe(verdict="usable", reason="there", count=1)

def smallest(x):
    return aten.kthvalue.default(x, 1)[0]

def largest(x):
    return aten.kthvalue.default(x, x.numel())[0]

def own_compiler(graph, example_inputs, *, decompositions, **given):
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    def keep(graph, example_inputs):
        SEEN.append(({str(node.target) for node in graph.graph.nodes if node.op == "call_function"}, given))
        return make_boxed_func(graph)

    return aot_autograd(fw_compiler=keep, decompositions=decompositions)(graph, example_inputs)

@hookimpl
def accelplug_device():
    return DeviceSpec(name=@NAME@, title=@NAME@, torch_type=@TORCH_TYPE@, probe=probe)

@hookimpl
def accelplug_decompositions():
    ASKED.append("decompositions")
    return Decompositions(@DECOMPOSITIONS@)

@hookimpl
def accelplug_compiler():
    ASKED.append("compiler")
    return CompilerSpec(@COMPILER@)
"""
SMALLEST = "add={aten.median.default: smallest}"
LARGEST = "add={aten.median.default: largest}"
NUMBERS = torch.tensor([5.0, 1.0, 3.0])


def median(x: torch.Tensor) -> torch.Tensor:
    """What is compiled: 3 of `NUMBERS` as PyTorch has it, 1 with `SMALLEST` in the table, 5 with `LARGEST`."""
    return x.median()


def install(
    site: Site, name: str, torch_type: str = "cpu", decompositions: str = SMALLEST, compiler: str = "", more: str = ""
) -> str:
    """Installs the backend ``name``; returns its module. The rest is source: arguments of its records, and ``more``."""
    source = SOURCE.replace("@NAME@", repr(name)).replace("@TORCH_TYPE@", repr(torch_type))
    source = source.replace("@DECOMPOSITIONS@", decompositions).replace("@COMPILER@", compiler)
    return site.module(name, source + more)


def live(site: Site, **parts: str) -> Any:
    """Installs the backend ``acme`` and makes its device live; returns its module, with what it has ``SEEN``."""
    module = install(site, "acme", **parts)
    accelplug.select("acme")
    return importlib.import_module(module)
