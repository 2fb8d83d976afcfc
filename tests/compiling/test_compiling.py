"""torch.compile(backend="accelplug"): each graph goes to the compiler of its device, with that device's tables."""

from __future__ import annotations

import importlib
import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
import table_backend
import torch
from backend_site import Site
from torch._dynamo.exc import BackendCompilerFailed
from torch._dynamo.testing import CompileCounterWithBackend

import accelplug
from accelplug import tables
from accelplug.compiling import backend
from accelplug.errors import BadInputError
from accelplug.specs import StandIn

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

NUMBERS = torch.tensor([5.0, 1.0, 3.0])
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


def median(x: torch.Tensor) -> torch.Tensor:
    return x.median()


def acme(site: Site, **parts: str) -> Any:
    """The module of a backend for the CPU that is made live."""
    module = table_backend.install(site, "acme", **parts)
    accelplug.select("acme")
    return importlib.import_module(module)


def test_torch_finds_the_backend_by_name_without_importing_inductor(
    python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    code = "import sys, torch; torch.compile(print, backend='accelplug'); print('torch._inductor.graph' in sys.modules)"
    done = python(code)
    assert done.stdout == "False\n", done.stderr


def test_a_device_without_tables_is_compiled_as_by_inductor() -> None:
    from torch._inductor.lowering import user_lowerings

    before = dict(user_lowerings)
    assert accelplug.compile(median)(NUMBERS) == 3
    assert user_lowerings == before


def test_a_device_with_tables_is_compiled_with_them(site: Site) -> None:
    acme(site)
    assert accelplug.compile(median)(NUMBERS) == 1
    assert torch.compile(median, backend="accelplug")(NUMBERS) == 1
    assert torch.compile(median, backend="inductor")(NUMBERS) == 3


def test_it_is_a_decorator_too(site: Site) -> None:
    acme(site)

    @accelplug.compile(fullgraph=True)
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.median()

    assert f(NUMBERS) == 1


def test_accelplug_chooses_the_backend() -> None:
    with pytest.raises(BadInputError, match=r"for backend='inductor' use torch\.compile"):
        accelplug.compile(median, backend="inductor")


def test_a_graph_that_makes_its_tensors_itself_is_on_their_device(site: Site) -> None:
    acme(site)
    assert accelplug.compile(lambda: torch.randperm(3, device="cpu").median())() == 0


def test_training_uses_the_table_forward_and_backward(site: Site) -> None:
    decompositions, more = SILU
    module = acme(site, decompositions=decompositions, more=more)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.SiLU())
    x = torch.randn(3, 4)

    def gradients(model: Callable[..., torch.Tensor]) -> tuple[torch.Tensor, ...]:
        return torch.autograd.grad(model(x).square().sum(), parameters)

    parameters = tuple(model.parameters())
    torch.testing.assert_close(gradients(accelplug.compile(model)), gradients(model))
    assert set(module.CALLED) == {"silu", "silu_backward"}


def test_graph_breaks_and_mutation(site: Site) -> None:
    acme(site)

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
    acme(site)

    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.bernoulli(x)

    compiled = accelplug.compile(f, options={"fallback_random": True})
    half = torch.full((32,), 0.5)
    torch.manual_seed(7)
    expected = f(half)
    torch.manual_seed(7)
    assert torch.equal(compiled(half), expected)


def test_dynamic_shapes_are_compiled_once(site: Site) -> None:
    acme(site, decompositions=table_backend.LARGEST)
    graphs = CompileCounterWithBackend("accelplug")
    f = torch.compile(median, backend=graphs, dynamic=True)
    assert [f(torch.arange(float(n))).item() for n in (3, 4, 5)] == [2, 3, 4]
    assert graphs.frame_count == 1


def test_a_mode_and_options_reach_inductor_under_the_devices_own(site: Site) -> None:
    acme(site, compiler="options={'no_such_option': 1}")
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
    module = acme(site, torch_type="meta", compiler="backend=own_compiler, options={'level': 1, 'fast': True}")
    accelplug.compile(median, options={"level": 2})(NUMBERS.to("meta"))
    (operators, given) = module.SEEN[0]
    assert "aten.kthvalue.default" in operators
    assert given == {"options": {"level": 2, "fast": True}}


def test_a_named_compiler_is_the_sdks(site: Site) -> None:
    seen: list[dict[str, Any]] = []

    def acme_backend(graph: torch.fx.GraphModule, example_inputs: list[Any], **given: Any) -> Callable[..., Any]:
        seen.append(given)
        return graph.forward

    module = acme(site, compiler="backend='acme_sdk', options={'level': 1}")
    with pytest.raises(BackendCompilerFailed, match=r"the Dynamo backend 'acme_sdk', .* isn't there .*inductor"):
        accelplug.compile(median)(NUMBERS)

    torch._dynamo.register_backend(acme_backend, name="acme_sdk")
    assert accelplug.compile(median)(NUMBERS) == 3  # it brings its own decompositions
    assert seen == [{"options": {"level": 1}}]
    assert module.ASKED == ["compiler", "decompositions"]


def test_a_graph_on_two_devices_that_compile_differently_is_refused(site: Site) -> None:
    table_backend.install(site, "metal", torch_type="meta")
    acme(site)

    def f(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.median(), y.median()

    with pytest.raises(BackendCompilerFailed, match="one graph has tensors on cpu and meta, which compile differently"):
        accelplug.compile(f)(NUMBERS, NUMBERS.to("meta"))


def test_a_hook_that_fails_is_named(site: Site) -> None:
    acme(site, decompositions="**1 / 0")
    with pytest.raises(BackendCompilerFailed, match=r"hook accelplug_decompositions of backend acme .* ZeroDivision"):
        torch.compile(median, backend="accelplug")(NUMBERS)


def test_a_torch_that_cannot_do_it_is_named(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    acme(site)
    monkeypatch.setattr("torch._inductor.compile_fx.compile_fx", lambda graph, example_inputs: graph)
    with pytest.raises(BackendCompilerFailed, match=re.escape(f"torch {torch.__version__} can't compile for cpu as")):
        accelplug.compile(median)(NUMBERS)


# static shapes


def test_a_static_device_compiles_each_shape_anew(site: Site) -> None:
    acme(site, compiler="static_shapes=True")
    f = accelplug.compile(median)
    assert [f(torch.arange(1.0, n)).item() for n in (4, 5, 6)] == [1, 1, 1]


def test_past_the_limit_a_new_shape_is_an_error_however_often_it_is_tried(site: Site) -> None:
    acme(site, compiler="static_shapes=True")
    f = accelplug.compile(median, recompile_limit=2)
    said = r"compiled 2 times, the limit: for l_x_ \(3,\); l_x_ \(4,\)\. Now it has l_x_ \(5,\)\. .*buckets="
    with torch._dynamo.config.patch(accumulated_recompile_limit=4):  # where torch gives up, and runs it eagerly
        for size in (3, 4):
            f(torch.arange(1.0, size + 1))
        for _ in range(6):
            with pytest.raises(BackendCompilerFailed, match=said):
                f(torch.arange(1.0, 6.0))
    assert f(torch.arange(1.0, 5.0)) == 1
    torch._dynamo.reset()
    assert f(torch.arange(1.0, 6.0)) == 1


def test_the_limit_says_when_it_is_not_shapes_that_change(site: Site) -> None:
    acme(site, compiler="static_shapes=True")
    f = accelplug.compile(lambda x, n: x.median() * n, recompile_limit=1)
    assert f(NUMBERS, 2) == 2
    with pytest.raises(BackendCompilerFailed, match=r"again with the same shapes: .* TORCH_LOGS=recompiles"):
        f(NUMBERS, 3)


def test_each_call_of_compile_has_a_limit_of_its_own(site: Site) -> None:
    acme(site, compiler="static_shapes=True")
    for _ in range(3):
        assert accelplug.compile(median, recompile_limit=1)(NUMBERS) == 1


def test_graphs_are_counted(site: Site) -> None:
    acme(site)
    counted = torch._dynamo.utils.counters["accelplug"]
    before = counted["graphs compiled for cpu"]
    accelplug.compile(median)(NUMBERS)
    assert counted["graphs compiled for cpu"] == before + 1


def test_a_static_device_is_told_by_the_models_parameters(site: Site) -> None:
    table_backend.install(site, "metal", torch_type="meta", compiler="static_shapes=True")
    with pytest.raises(accelplug.AccelplugError, match="dynamic=True, but meta compiles static shapes only"):
        accelplug.compile(torch.nn.Linear(2, 2, device="meta"), dynamic=True)
    accelplug.compile(torch.nn.Linear(2, 2, device="cpu"), dynamic=True)


def test_a_symbolic_shape_is_refused_with_what_to_do(site: Site) -> None:
    acme(site, compiler="static_shapes=True")
    f = torch.compile(lambda x, n: x.median() * n, backend="accelplug", dynamic=True)
    said = r"cpu compiles static shapes only, and the graph has symbolic ones: .*\(s\d+,\).* pass dynamic=False"
    with pytest.raises(BackendCompilerFailed, match=said):
        f(NUMBERS, 4)


def test_the_second_shape_is_refused_where_torch_makes_it_symbolic(site: Site) -> None:
    acme(site, compiler="static_shapes=True")
    f = torch.compile(median, backend="accelplug")
    assert f(NUMBERS) == 1
    with pytest.raises(BackendCompilerFailed, match=r"Use accelplug.compile\(model\)"):
        f(torch.arange(4.0))


def test_the_vendors_devices_are_static_and_neurons_compiler_is_the_sdks() -> None:
    neuron, spyre = tables.tables_for("neuron"), tables.tables_for("spyre")
    assert neuron is not None
    assert spyre is not None
    assert (neuron.compiler.backend, neuron.compiler.static_shapes) == ("neuron", True)
    assert (spyre.compiler.backend, spyre.compiler.static_shapes) == (None, True)


def test_the_backend_takes_graphs_that_dynamo_did_not_make(site: Site) -> None:
    acme(site)
    graph = torch.fx.symbolic_trace(lambda x: (x.median(),))
    assert backend(graph, [NUMBERS])(NUMBERS)[0] == 1
