"""In compiled graphs of a simulated device a kernel is its reference, where Inductor can take that apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from accelplug.sim import host_kernels

Op = Callable[..., Any]


def scaled(input: torch.Tensor, by: float) -> torch.Tensor:
    return torch.nn.functional.silu(input) * by


def through_an_operator_of_its_own(input: torch.Tensor, by: float) -> torch.Tensor:
    return torch.ops.spelt_out.inner(input) * by


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[Op]:
    """The operator of a kernel, on the CPU and on tensors without data."""
    monkeypatch.setattr(host_kernels, "_references", {})
    library = torch.library.Library("spelt_out", "FRAGMENT")
    library.define("scaled(Tensor input, float by) -> Tensor")
    library.define("inner(Tensor input) -> Tensor")
    library.impl("scaled", scaled, "CompositeExplicitAutograd")
    library.impl("inner", torch.clone, "CompositeExplicitAutograd")
    yield torch.ops.spelt_out.scaled.default
    library._destroy()


def graph_with(kernel: Op) -> torch.fx.GraphModule:
    with FakeTensorMode() as mode:
        traced: torch.fx.GraphModule = make_fx(lambda x: kernel(x + 1, by=2.0))(mode.from_tensor(torch.ones(3, 4)))
    return traced


def targets(graph: torch.fx.GraphModule) -> set[str]:
    return {str(node.target) for node in graph.graph.nodes if node.op == "call_function"}


def test_a_reference_stands_in_the_place_of_the_call(kernel: Op) -> None:
    host_kernels.know(kernel, scaled)
    graph = graph_with(kernel)
    host_kernels.spell_out(graph)
    graph.recompile()
    assert all(target.startswith("aten.") for target in targets(graph))
    x = torch.randn(3, 4)
    torch.testing.assert_close(graph(x), scaled(x + 1, 2.0))
    assert all("val" in node.meta for node in graph.graph.nodes if node.op == "call_function")


def test_a_reference_with_operators_of_its_own_stays_a_call(kernel: Op) -> None:
    host_kernels.know(kernel, through_an_operator_of_its_own)
    graph = graph_with(kernel)
    host_kernels.spell_out(graph)
    assert "spelt_out.scaled.default" in targets(graph)


def test_what_is_no_kernel_stays(kernel: Op) -> None:
    graph = graph_with(kernel)
    host_kernels.spell_out(graph)
    assert targets(graph) == {"aten.add.Tensor", "spelt_out.scaled.default"}
