"""Kernels as implementations of vLLM's IR: vLLM asks their own clauses, in the table's order, and ends at its own.

The device type is the CPU, so that this process can have it. Each kernel tells from its result that it has run.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from accelplug_vllm.layers import ir
from backend_site import Site
from vllm import ir as vllm_ir
from vllm.config import CompilationMode
from vllm.ir.op import IrOp

import accelplug
from accelplug import tables
from accelplug.errors import FallbackRefusedError
from accelplug.specs import KernelCount

BACKEND = """
from accelplug.errors import FallbackRefusedError
from accelplug.hookspecs import hookimpl
from accelplug.specs import DeviceSpec, Kernel, Probe, TensorRule

def times(number):
    def function(input, weight, eps):
        if input.shape[0] == 13:
            raise NotImplementedError("thirteen rows")
        if input.shape[0] == 17:
            raise FallbackRefusedError("aten::add would have run on the CPU")
        scale = (input.float().pow(2).mean(-1, keepdim=True) + eps).rsqrt()
        return (input * scale * weight * number).to(input.dtype)
    return function

def kernel(name, number, **given):
    return Kernel(
        op="accelplug::rms_norm", provider="acme", name=name, level="tile", load=lambda: times(number),
        reference=times(number), ran_on="hardware", **given,
    )

@hookimpl
def accelplug_device():
    probe = lambda host: Probe(verdict="usable", reason="there", count=1)
    return DeviceSpec(name="acme", title="Acme", torch_type="cpu", probe=probe)

@hookimpl
def accelplug_kernels():
    fours = {"input": TensorRule(dtypes=("float32",), multiples={-1: 4}, contiguous=True)}
    floats = {"*": TensorRule(dtypes=("float32",))}
    return [kernel("plain", 3, accepts=floats), kernel("tiled", 2, accepts=fours, priority=5)]
"""


def priorities(mode: CompilationMode = CompilationMode.NONE) -> Any:
    return ir.priorities("cpu", SimpleNamespace(compilation_config=SimpleNamespace(mode=mode)))  # type: ignore[arg-type]


@pytest.fixture
def acme(site: Site) -> Iterator[None]:
    """The device is live and its kernels are vLLM's."""
    site.module("acme", BACKEND)
    accelplug.select("acme")
    ir.register.cache_clear()
    before = {name: dict(op.impls) for name, op in IrOp.registry.items()}
    ir.register("cpu")
    with vllm_ir.enable_torch_wrap(False), priorities().set_priority():
        yield
    for name, op in IrOp.registry.items():
        op.impls = before[name]
    ir.register.cache_clear()


def norm(x: torch.Tensor, weight: torch.Tensor | None = None, variance_size: int | None = None) -> int:
    """How many times vLLM's own result the IR's is."""
    weight = torch.ones(x.shape[-1], dtype=x.dtype) if weight is None else weight
    own = IrOp.registry["rms_norm"].impls["native"].impl_fn
    arguments = (x, weight, 1e-6, variance_size)
    return round(float((vllm_ir.ops.rms_norm(*arguments) / own(*arguments)).mean()))


def counts() -> dict[str, KernelCount]:
    found = tables.tables_for("cpu")
    assert found is not None
    return {count.kernel: count for count in found.kernels.counts()}


@pytest.mark.usefixtures("acme")
class TestKernelsOfTheIr:
    def test_vllm_tries_them_in_the_order_of_the_table_and_its_own_last(self) -> None:
        assert priorities().rms_norm == ["acme__tiled", "acme__plain", "native"]
        assert priorities().fused_add_rms_norm == ["acme__tiled", "acme__plain", "native"]
        assert priorities().gelu_and_mul_sparse == ["native"], "no operator of accelplug's computes it"

    def test_what_runs_each_operator_can_be_reported(self) -> None:
        assert ir.chosen()["vllm.ir.rms_norm"] == ("acme/tiled", "acme/plain", "native")

    @pytest.mark.parametrize(
        ("x", "factor"),
        [(torch.randn(3, 8), 2), (torch.randn(3, 6), 3), (torch.randn(8, 3).t(), 3), (torch.randn(3, 8).double(), 1)],
        ids=["the best one takes it", "not a multiple of 4", "not contiguous", "no kernel has the dtype"],
    )
    def test_the_clauses_of_a_kernel_decide(self, x: torch.Tensor, factor: int) -> None:
        assert norm(x) == factor

    def test_what_the_operator_cannot_say_goes_to_vllms_own(self) -> None:
        x = torch.randn(3, 8)
        assert norm(x, variance_size=4) == 1
        assert vllm_ir.ops.rms_norm.dispatch(x, None, 1e-6).provider == "native"

    def test_a_scope_holds_in_vllm_too(self) -> None:
        x = torch.randn(3, 8)
        with accelplug.kernels(disable="acme/tiled"):
            assert norm(x) == 3
            with accelplug.kernels(only=()):
                assert norm(x) == 1
        assert norm(x) == 2

    def test_calls_and_refusals_are_counted_by_kernel(self) -> None:
        norm(torch.randn(3, 8))
        norm(torch.randn(3, 6))
        found = counts()
        assert (found["acme/tiled"].calls, found["acme/plain"].calls) == (1, 1)
        assert found["acme/tiled"].refused == {"input has a dimension -1 of a multiple of 4": 1}

    def test_a_kernel_that_does_not_take_the_call_after_all_leaves_it_to_vllm(self) -> None:
        assert norm(torch.randn(13, 8)) == 1
        assert counts()["acme/tiled"].said == {"thirteen rows": 1}
        assert counts()["acme/tiled"].passed_on == 1

    def test_a_fallback_that_is_refused_inside_a_kernel_is_an_error_and_not_vllms_to_compute(self) -> None:
        with pytest.raises(FallbackRefusedError, match="aten::add"):
            norm(torch.randn(17, 8))
        assert counts()["acme/tiled"].passed_on == 0

    def test_a_residual_is_added_first_and_returned(self) -> None:
        x, residual, weight = torch.randn(3, 8), torch.randn(3, 8), torch.randn(8)
        normal, total = vllm_ir.ops.fused_add_rms_norm.maybe_inplace(x, residual, weight, 1e-6)
        torch.testing.assert_close(total, x + residual)
        torch.testing.assert_close(normal, accelplug_norm(x + residual, weight) * 2)

    def test_in_a_graph_is_accelplugs_operator_and_the_table_chooses_below(self) -> None:
        in_graphs = priorities(CompilationMode.VLLM_COMPILE)
        assert in_graphs.rms_norm == ["accelplug", "native"]
        seen = []

        def look(graph: torch.fx.GraphModule, inputs: object) -> torch.fx.GraphModule:
            seen.extend(node.target for node in graph.graph.nodes if node.op == "call_function")
            return graph

        def f(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = vllm_ir.ops.rms_norm(x, weight, 1e-6)
            return result

        with in_graphs.set_priority():
            torch.compile(f, backend=look, fullgraph=True)(torch.randn(3, 8), torch.ones(8))
        assert torch.ops.accelplug.rms_norm.default in seen


def accelplug_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x * (x.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt() * weight


def test_without_kernels_vllms_own_runs(site: Site) -> None:
    site.backend("plain")
    accelplug.select("plain")
    assert priorities().rms_norm == ["native"]
