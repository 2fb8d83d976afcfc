"""Kernels against their references: calls are made from what the records ask, and a wrong kernel is found."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from backend_site import HEAD, Site

from accelplug.conformance import ConformanceReport, Outcome
from accelplug.conformance.kernel_samples import dtypes, shapes
from accelplug.specs import Kernel, Level, TensorRule

Examine = Callable[..., ConformanceReport]

SOURCE = """
from torch.nn.functional import silu
from accelplug.specs import Kernel, Level

def gated(input):
    gate, up = input.chunk(2, -1)
    return silu(gate) * up

def wide(input):
    return input.clone()

def probe(host):
    return Probe(verdict="usable", reason="there", count=1)

def missing():
    raise ImportError("install acme-kernels")

@hookimpl
def accelplug_device():
    return DeviceSpec(name="acme", title="Acme", torch_type="cpu", probe=probe)

@hookimpl
def accelplug_kernels():
    loads = {"right": lambda: gated, "wrong": lambda: lambda input: gated(input) + 1, "missing": missing}
    common = {"provider": "acme", "level": Level.tile, "reference": gated}
    kernels = [Kernel(op="accelplug::silu_and_mul", name=name, load=load, **common) for name, load in loads.items()]
    kernels.append(Kernel(op="accelplug::silu_and_mul", name="misshapen", load=loads["right"], fake=wide, **common))
    return [*kernels, Kernel(op="aten::cosh", name="cosh", load=lambda: gated, **common)]
"""


def kernel(op: str, **asked: object) -> Kernel:
    return Kernel(op=op, provider="acme", name="k", level=Level.tile, load=list, reference=list, **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "made"),
    [
        (kernel("aten::mm"), {"self": (4, 4), "mat2": (4, 4)}),
        (
            kernel("aten::mm", accepts={"self": TensorRule(multiples={-1: 96}), "mat2": TensorRule(multiples={0: 64})}),
            {"self": (4, 192), "mat2": (192, 4)},
        ),
        (
            kernel("accelplug::rms_norm", accepts={"input": TensorRule(ranks=(3,), at_least={-1: 100})}),
            {"input": (4, 4, 100), "weight": (100,)},
        ),
        (
            kernel("accelplug::rotary_embedding", accepts={"input": TensorRule(multiples={-1: 32})}),
            {"input": (4, 4, 32), "cos": (4, 16), "sin": (4, 16)},
        ),
        (kernel("aten::mm", accepts={"*": TensorRule(at_most={0: 2})}), None),
        (kernel("aten::mm", accepts={"*": TensorRule(ranks=(1,))}), None),
        (kernel("aten::cosh"), None),
    ],
)
def test_shapes_meet_what_a_kernel_asks_of_every_tensor(asked: Kernel, made: dict[str, tuple[int, ...]] | None) -> None:
    assert shapes(asked) == made


def test_dtypes_are_those_that_every_tensor_may_have() -> None:
    asked = {"*": TensorRule(dtypes=("float32", "float16")), "self": TensorRule(dtypes=("float16", "int8"))}
    assert dtypes(kernel("aten::mm", accepts=asked)) == ["float16"]
    assert dtypes(kernel("aten::mm")) == ["float32", "bfloat16", "float16"]


def test_a_wrong_kernel_is_found_and_one_that_is_not_there_is_skipped(site: Site, examine: Examine) -> None:
    site.module("acme", HEAD + SOURCE)

    found = {check.name: check for check in examine("acme", areas=["kernels"])["kernels"].checks}

    assert found["acme/right of accelplug::silu_and_mul"].outcome is Outcome.passed
    assert found["acme/right of accelplug::silu_and_mul"].data["ran"] == "the kernel"
    assert found["acme/wrong of accelplug::silu_and_mul"].outcome is Outcome.failed
    assert found["acme/misshapen of accelplug::silu_and_mul"].outcome is Outcome.error, "its fake"
    assert "shape" in found["acme/misshapen of accelplug::silu_and_mul"].why
    assert found["acme/missing of accelplug::silu_and_mul"].why == "it isn't there: install acme-kernels"
    assert found["acme/cosh of aten::cosh"].why.startswith("the suite has no call of aten::cosh")
