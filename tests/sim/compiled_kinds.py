"""Further kinds of programs that ``torch.compile`` takes, on a simulated device. device_compiling.py runs it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from compiled_case import case, close, compiled_on
from torch._higher_order_ops import while_loop

import accelplug
from accelplug.compiling import compile_with
from accelplug.sim.compiling import inner_compile
from accelplug.specs import Decompositions
from accelplug.tables.decompositions import build


@case
def past_the_limit_a_new_shape_is_an_error_and_the_old_ones_stay(device: str) -> None:
    f = accelplug.compile(lambda x: x + 1, recompile_limit=2)
    before = compiled_on(device)
    for size in (3, 4):
        f(torch.ones(size, device=device))
    with pytest.raises(
        Exception, match=rf"{device} .* compiled 2 times, the limit: .*\(3,\).*\(4,\).* \(5,\).*buckets"
    ):
        f(torch.ones(5, device=device))
    close(f(torch.ones(4, device=device)), torch.full((4,), 2.0), device)
    assert compiled_on(device) - before == 2


@case
def dropout_is_eagers_with_fallback_random(device: str) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(x, 0.5)

    x = torch.ones(64, device=device)
    torch.manual_seed(7)
    want = f(x).cpu()
    torch.manual_seed(7)
    close(accelplug.compile(f, options={"fallback_random": True})(x), want, device)


@case
def an_optimizers_step_is_compiled(device: str) -> None:
    weights = [torch.ones(3, device=where, requires_grad=True) for where in ("cpu", device)]
    for weight in weights:
        optimizer = torch.optim.AdamW([weight], lr=0.1)
        weight.square().sum().backward()
        step = optimizer.step if weight.device.type == "cpu" else accelplug.compile(optimizer.step)
        step()
    close(weights[1].detach(), weights[0].detach(), device)


@case
def inference_mode_and_autocast_are_kept(device: str) -> None:
    layer, x = torch.nn.Linear(4, 4).to(device), torch.randn(2, 4, device=device)
    compiled = accelplug.compile(layer)
    with torch.inference_mode():
        assert compiled(x).is_inference()
    for dtype in (torch.bfloat16, torch.float16):
        with torch.no_grad(), torch.autocast(device, dtype=dtype):
            assert compiled(x).dtype == dtype
            torch.testing.assert_close(compiled(x).cpu(), layer(x).cpu())


@case
def a_compiled_function_and_an_exported_program_may_be_inside(device: str) -> None:
    x = torch.randn(4)
    inner = torch.compile(lambda x: x.sin())
    close(accelplug.compile(lambda x: inner(x) + 1)(x.to(device)), x.sin() + 1, device)
    layer = torch.nn.Linear(4, 4)
    exported = torch.export.export(copy.deepcopy(layer).to(device), (x.to(device),)).module()
    close(accelplug.compile(exported)(x.to(device)).detach(), layer(x).detach(), device)


@case
def a_loop_that_depends_on_data_is_compiled(device: str) -> None:
    def doubled(x: torch.Tensor) -> torch.Tensor:
        start = torch.zeros((), dtype=torch.int32, device=device)
        return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (start, x))[1]

    close(accelplug.compile(doubled, fullgraph=True)(torch.ones(3, device=device)), torch.full((3,), 8.0), device)


@case
def two_devices_have_graphs_of_their_own_and_may_be_in_one(device: str) -> None:
    x = torch.randn(4)
    first, second = x.to(f"{device}:0"), x.to(f"{device}:1")
    twice = accelplug.compile(lambda x: x * 2)
    for given in (first, second):
        assert twice(given).device == given.device
        close(twice(given), x * 2, device)
    moved = accelplug.compile(lambda a, b: a.exp().to(b.device) + b)(first, second)
    assert moved.device == second.device
    close(moved, x.exp() + x, device)


@case
def a_dtype_that_the_device_has_not_is_refused_with_its_operator(device: str) -> None:
    f, x = accelplug.compile(lambda x: (x.double() * 2).float()), torch.ones(3, device=device)
    if device == "neuron":  # holds 64 bits in 32
        close(f(x), torch.full((3,), 2.0), device)
    else:
        with pytest.raises(Exception, match=r"spyre \(simulated\) has no float64, .* with .*compiled_kinds\.py"):
            f(x)


@case
def the_default_backend_is_the_devices_too(device: str) -> None:
    def two_largest(x: torch.Tensor) -> torch.Tensor:
        return x.triu().topk(2).values

    x, before = torch.randn(3, 4), compiled_on(device)
    for arguments in ({}, {"backend": "inductor"}, {"mode": "max-autotune"}, {"options": {"fallback_random": True}}):
        torch._dynamo.reset()
        close(torch.compile(two_largest, **arguments)(x.to(device)), two_largest(x), device)
        assert compiled_on(device) - before == 1, arguments
        before += 1
        torch.testing.assert_close(torch.compile(two_largest, **arguments)(x), two_largest(x))
        assert compiled_on(device) == before, "a graph on the CPU is Inductor's"
    with pytest.raises(Exception, match=f"aotinductor can't compile for {device}: leave out use_aoti"):
        torch.compile(two_largest, options={"use_aoti": True})(x.to(device))
    with pytest.raises(Exception, match=r"static shapes only.* Use accelplug.compile\(model\)"):
        torch.compile(two_largest, dynamic=True)(x.to(device))


def smallest(x: torch.Tensor) -> torch.Tensor:
    return torch.ops.aten.kthvalue.default(x, 1)[0]


def largest(x: torch.Tensor) -> torch.Tensor:
    return torch.ops.aten.kthvalue.default(x, x.numel())[0]


@case
def tables_that_alternate_have_graphs_of_their_own_in_the_caches(device: str) -> None:
    x = torch.tensor([5.0, 1.0, 3.0], device=device)
    for which in (smallest, largest) * 2:
        changes = Decompositions(add={torch.ops.aten.median.default: which})
        table = build(device, changes, origin="test", lowered_on="cpu")
        torch._dynamo.reset()

        def backend(graph: Any, example_inputs: Any, table: Any = table) -> Any:
            return compile_with(table, graph, example_inputs, inner_compile=inner_compile)

        assert torch.compile(lambda x: x.median(), backend=backend)(x) == which(x.cpu())
