"""torch.compile(backend="accelplug"): each graph goes to the compiler of its device, with that device's tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import table_backend
import torch
from backend_site import Site
from processes import Run
from table_backend import NUMBERS, live, median
from torch._dynamo.backends import registry
from torch._dynamo.exc import BackendCompilerFailed
from torch._dynamo.testing import CompileCounterWithBackend

import accelplug
from accelplug import tables
from accelplug.compiling import backend
from accelplug.errors import BadInputError
from accelplug.specs import StandIn

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

SILU = (
    "add={aten.silu.default: own_silu, aten.silu_backward.default: own_silu_backward}",
    """
CALLED = []

def own_silu(x):
    CALLED.append("silu")
    return x * x.sigmoid()

def own_silu_backward(gradient, x):
    CALLED.append("silu_backward")
    s = x.sigmoid()
    return gradient * s * (1 + x * (1 - s))
""",
)


def test_torch_finds_the_backend_by_name_without_importing_inductor(python: Run) -> None:
    code = "import sys, torch; torch.compile(print, backend='accelplug'); print('torch._inductor.graph' in sys.modules)"
    done = python(code)
    assert done.stdout == "False\n", done.stderr


def test_a_device_without_tables_is_compiled_as_by_inductor() -> None:
    from torch._inductor.lowering import user_lowerings

    before = dict(user_lowerings)
    assert accelplug.compile(median)(NUMBERS) == 3
    assert user_lowerings == before


def test_a_device_with_tables_is_compiled_with_them(site: Site) -> None:
    live(site)
    assert accelplug.compile(median)(NUMBERS) == 1
    assert torch.compile(median, backend="accelplug")(NUMBERS) == 1
    assert torch.compile(median, backend="inductor")(NUMBERS) == 3


def test_it_is_a_decorator_too(site: Site) -> None:
    live(site)

    @accelplug.compile(fullgraph=True)
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.median()

    assert f(NUMBERS) == 1


def test_accelplug_chooses_the_backend() -> None:
    with pytest.raises(BadInputError, match=r"for backend='inductor' use torch\.compile"):
        accelplug.compile(median, backend="inductor")


def test_a_graph_that_makes_its_tensors_itself_is_on_their_device(site: Site) -> None:
    live(site)
    assert accelplug.compile(lambda: torch.randperm(3, device="cpu").median())() == 0


def test_training_uses_the_table_forward_and_backward(site: Site) -> None:
    decompositions, more = SILU
    module = live(site, decompositions=decompositions, more=more)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.SiLU())
    x = torch.randn(3, 4)

    def gradients(model: Callable[..., torch.Tensor]) -> tuple[torch.Tensor, ...]:
        return torch.autograd.grad(model(x).square().sum(), parameters)

    parameters = tuple(model.parameters())
    torch.testing.assert_close(gradients(accelplug.compile(model)), gradients(model))
    assert set(module.CALLED) == {"silu", "silu_backward"}


def test_graph_breaks_and_mutation(site: Site) -> None:
    live(site)

    def f(x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        low = x.median()
        torch._dynamo.graph_break()
        seen.copy_(x)
        return low

    seen = torch.zeros(3)
    graphs = CompileCounterWithBackend("accelplug")
    assert torch.compile(f, backend=graphs)(NUMBERS, seen) == 1
    assert seen.tolist() == NUMBERS.tolist()
    assert graphs.frame_count == 2


def test_random_numbers_are_eagers_with_fallback_random(site: Site) -> None:
    live(site)

    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.bernoulli(x)

    compiled = accelplug.compile(f, options={"fallback_random": True})
    half = torch.full((32,), 0.5)
    torch.manual_seed(7)
    expected = f(half)
    torch.manual_seed(7)
    assert torch.equal(compiled(half), expected)


def test_dynamic_shapes_are_compiled_once(site: Site) -> None:
    live(site, decompositions=table_backend.LARGEST)
    graphs = CompileCounterWithBackend("accelplug")
    f = torch.compile(median, backend=graphs, dynamic=True)
    assert [f(torch.arange(float(n))).item() for n in (3, 4, 5)] == [2, 3, 4]
    assert graphs.frame_count == 1


def test_a_mode_and_options_reach_inductor_under_the_devices_own(site: Site) -> None:
    live(site, compiler="options={'no_such_option': 1}")
    with pytest.raises(BackendCompilerFailed, match="Unexpected optimization option no_such_option"):
        accelplug.compile(median)(NUMBERS)
    with pytest.raises(BackendCompilerFailed, match="Unrecognized mode=fastest"):
        accelplug.compile(median, mode="fastest")(NUMBERS)


def test_a_simulator_can_change_the_graph_before_inductor_sees_it(site: Site) -> None:
    from torch._inductor.compile_fx import compile_fx_inner

    seen: list[set[str]] = []

    def inner_compile(graph: torch.fx.GraphModule, example_inputs: list[Any], **given: Any) -> Any:
        seen.append({str(node.target) for node in graph.graph.nodes})
        return compile_fx_inner(graph, example_inputs, **given)

    table_backend.install(site, "acme", decompositions=table_backend.LARGEST)
    tables.stand_in("cpu", StandIn(lowered_on="cpu", inner_compile=inner_compile))
    accelplug.select("acme")
    assert accelplug.compile(median)(NUMBERS) == 5
    assert "aten.kthvalue.default" in seen[0]


def test_a_compiler_of_ones_own_gets_the_table_and_what_the_user_gave(site: Site) -> None:
    module = live(site, torch_type="meta", compiler="backend=own_compiler, options={'level': 1, 'fast': True}")
    accelplug.compile(median, options={"level": 2})(NUMBERS.to("meta"))
    (operators, given) = module.SEEN[0]
    assert "aten.kthvalue.default" in operators
    assert given == {"options": {"level": 2, "fast": True}}


def test_a_named_compiler_is_the_sdks(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []

    def acme_backend(graph: torch.fx.GraphModule, example_inputs: list[Any], **given: Any) -> Callable[..., Any]:
        seen.append(given)
        return graph.forward

    module = live(site, compiler="backend='acme_sdk', options={'level': 1}")
    with pytest.raises(BackendCompilerFailed, match=r"the Dynamo backend 'acme_sdk', .* isn't there .*inductor"):
        accelplug.compile(median)(NUMBERS)

    monkeypatch.setattr(registry, "_BACKENDS", dict(registry._BACKENDS))  # torch can't take one off its list
    monkeypatch.setattr(registry, "_COMPILER_FNS", dict(registry._COMPILER_FNS))
    torch._dynamo.register_backend(acme_backend, name="acme_sdk")
    assert accelplug.compile(median)(NUMBERS) == 3  # it brings its own decompositions
    assert seen == [{"options": {"level": 1}}]
    assert module.ASKED == ["compiler", "decompositions"]


def test_a_graph_on_two_devices_that_compile_differently_is_refused(site: Site) -> None:
    table_backend.install(site, "metal", torch_type="meta")
    live(site)

    def f(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.median(), y.median()

    with pytest.raises(BackendCompilerFailed, match="one graph has tensors on cpu and meta, which compile differently"):
        accelplug.compile(f)(NUMBERS, NUMBERS.to("meta"))


def test_a_hook_that_fails_is_named(site: Site) -> None:
    live(site, decompositions="**1 / 0")
    with pytest.raises(BackendCompilerFailed, match=r"hook accelplug_decompositions of backend acme .* ZeroDivision"):
        torch.compile(median, backend="accelplug")(NUMBERS)


def test_a_torch_that_cannot_do_it_is_named(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    live(site)
    monkeypatch.setattr("torch._inductor.compile_fx.compile_fx", lambda graph, example_inputs: graph)
    with pytest.raises(BackendCompilerFailed, match=re.escape(f"torch {torch.__version__} can't compile for cpu as")):
        accelplug.compile(median)(NUMBERS)


def test_graphs_are_counted(site: Site) -> None:
    live(site)
    counted = torch._dynamo.utils.counters["accelplug"]
    before = counted["graphs compiled for cpu"]
    accelplug.compile(median)(NUMBERS)
    assert counted["graphs compiled for cpu"] == before + 1


def test_the_backend_takes_graphs_that_dynamo_did_not_make(site: Site) -> None:
    live(site)
    graph = torch.fx.symbolic_trace(lambda x: (x.median(),))
    assert backend(graph, [NUMBERS])(NUMBERS)[0] == 1
