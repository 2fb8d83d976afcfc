"""Inputs that start in the middle of their memory, or share it: right numbers, or a refusal.

The compiler here does what torch-spyre's does (its issue 3770): its code reads every input from its memory's start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.utils import counters
from torch._inductor.compile_fx import compile_fx, compile_fx_inner
from torch._inductor.utils import fresh_cache

from accelplug.errors import CompileRefusedError
from accelplug.graph_inputs import checked

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def forgetful(graph: torch.fx.GraphModule, example_inputs: Any, **given: Any) -> Any:
    """Compiles to code that forgets where inputs start."""

    def run(inputs: list[Any]) -> Any:
        return graph(*(x.as_strided(x.size(), x.stride(), 0) if isinstance(x, torch.Tensor) else x for x in inputs))

    run._boxed_call = True  # type: ignore[attr-defined]
    return run


def compiled(function: Callable[..., Any], inner: Any = forgetful, from_the_start: bool = True) -> Callable[..., Any]:
    """``function``, compiled with ``inner`` and the checks around it; mutations stay in the graph, as with Inductor."""
    ours = checked(inner, from_the_start=from_the_start)
    if inner is forgetful:
        backend = aot_autograd(fw_compiler=ours, bw_compiler=ours, keep_inference_input_mutations=True)
        return torch.compile(function, backend=backend, dynamic=False)

    def through_inductor(graph: torch.fx.GraphModule, example_inputs: Any) -> Any:
        with torch.compiler.config.patch(cache_key_tag="with checks"):  # a device's table does so
            return compile_fx(graph, example_inputs, inner_compile=ours)

    return torch.compile(function, backend=through_inductor, dynamic=False)


BASE = torch.arange(64.0).reshape(8, 8)
VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "rows": lambda x: x[2:5],
    "columns": lambda x: x[:, 3:6],
    "every other row": lambda x: x[1::2],
    "a transposed part": lambda x: x[1:4, 2:7].t(),
    "expanded": lambda x: x[3:4].expand(5, 8),
    "windows that overlap": lambda x: x.as_strided((4, 3), (2, 1), 5),
    "a single element": lambda x: x[4, 4],
    "no element": lambda x: x[3:3],
}


def test_the_compiler_of_these_tests_forgets_where_inputs_start() -> None:
    f = torch.compile(lambda x: x * 2, backend=aot_autograd(fw_compiler=forgetful), dynamic=False)
    assert not torch.equal(f(BASE[2:5]), BASE[2:5] * 2)


@pytest.mark.parametrize("view", VIEWS)
def test_an_input_is_read_where_it_starts(view: str) -> None:
    given = VIEWS[view](BASE)
    assert torch.equal(compiled(lambda x: x * 2 + 1)(given), given * 2 + 1)


def test_a_graph_that_was_compiled_for_the_start_is_right_elsewhere() -> None:
    f = compiled(lambda x: x * 2)
    assert torch.equal(f(BASE[0:4]), BASE[0:4] * 2)
    assert torch.equal(f(BASE[4:8]), BASE[4:8] * 2)  # no guard of torch's compiles it anew


@pytest.mark.parametrize("view", ["rows", "columns", "every other row", "a transposed part", "a single element"])
def test_what_the_graph_writes_ends_in_the_callers_tensor(view: str) -> None:
    ours, theirs = BASE.clone(), BASE.clone()

    def f(x: torch.Tensor) -> torch.Tensor:
        return x.mul_(3).sum()

    assert torch.equal(compiled(f)(VIEWS[view](ours)), f(VIEWS[view](theirs)))
    assert torch.equal(ours, theirs)


def test_a_backward_graph_is_given_what_it_can_take() -> None:
    """The gradient of a part of a concatenation is a view into the gradient of the whole."""
    ours, theirs = (torch.ones(3, 8, requires_grad=True) for _ in range(2))
    weights = torch.arange(48.0).reshape(6, 8)
    for run, x in ((compiled(torch.sin), ours), (torch.sin, theirs)):
        (torch.cat([x.detach(), run(x)]) * weights).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_a_result_that_is_a_view_of_an_input_stays_one() -> None:
    base = BASE.clone()
    view = compiled(lambda x: x.view(-1))(base[2:4])
    view.zero_()
    assert base[2:4].eq(0).all()


def test_memory_addressed_from_its_start_is_refused() -> None:
    f = compiled(lambda x: x.as_strided((2, 2), (1, 1), 3) + 1)
    assert torch.equal(f(BASE), BASE.as_strided((2, 2), (1, 1), 3) + 1)
    with pytest.raises(CompileRefusedError, match=r"starts at element 16 .* pass a \.clone\(\)"):
        f(torch.ones(16, 8)[2:10])


def add_and_read(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return y.sum()


@pytest.mark.parametrize(("inner", "from_the_start"), [(forgetful, True), (compile_fx_inner, False)])
def test_two_views_of_one_memory_of_which_one_is_written_to_are_refused(inner: Any, from_the_start: bool) -> None:
    f = compiled(add_and_read, inner, from_the_start)
    f(torch.zeros(4), torch.zeros(4))
    memory = torch.zeros(8)
    with pytest.raises(CompileRefusedError, match="inputs 0, 1 of a graph on cpu share memory"):
        f(memory[:4], memory[2:6])
    assert memory.eq(0).all()


def test_code_from_torchs_caches_has_the_checks_too() -> None:
    compiled(add_and_read, compile_fx_inner, False)(torch.zeros(4), torch.zeros(4))
    torch._dynamo.reset()
    counters.clear()
    f, memory = compiled(add_and_read, compile_fx_inner, False), torch.zeros(8)
    f(torch.zeros(4), torch.zeros(4))
    assert counters["aot_autograd"]["autograd_cache_hit"] == 1
    with pytest.raises(CompileRefusedError, match="share memory"):
        f(memory[:4], memory[2:6])


def test_stock_torch_gives_wrong_numbers_for_them() -> None:
    """The proof that the refusal is needed. When torch mends it, this fails, and the check can go."""
    f = torch.compile(add_and_read, backend="inductor", dynamic=False)
    f(torch.zeros(4), torch.zeros(4))
    memory = torch.zeros(8)
    assert f(memory[:4], memory[2:6]).item() == 0  # eager: 2


def test_a_graph_that_is_compiled_for_them_is_right() -> None:
    memory = torch.zeros(8)
    with fresh_cache():  # torch's key doesn't say whether inputs share memory
        assert compiled(add_and_read, compile_fx_inner)(memory[:4], memory[2:6]).item() == 2


def test_views_that_share_no_element_are_taken() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        y.add_(2)
        return x + y

    cache = torch.zeros(2, 4)
    assert compiled(f)(cache[0], cache[1]).tolist() == [3, 3, 3, 3]
    assert cache.tolist() == [[1] * 4, [2] * 4]


def test_graphs_that_write_to_no_input_are_left_alone_where_offsets_are_fine() -> None:
    codes: list[Any] = []

    def keep(graph: Any, inputs: Sequence[Any], **given: Any) -> Any:
        codes.append(compile_fx_inner(graph, inputs, **given))
        return codes[-1]

    compiled(torch.sin, keep, from_the_start=False)(torch.ones(3))
    assert type(codes[0]).__name__ == "CompiledFxGraph"
