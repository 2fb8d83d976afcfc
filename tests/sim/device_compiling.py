"""``torch.compile`` on a simulated device, beside the CPU's eager results. test_compiling.py runs it, in a process of
its own for each device; ``python device_compiling.py [case...]`` says what failed, and how torch's caches helped."""

from __future__ import annotations

import copy
import json
import sys
import traceback
from collections.abc import Callable

import pytest
import torch
from torch._higher_order_ops import while_loop

import accelplug

CASES: dict[str, Callable[[str], None]] = {}
# Of two operators those that the device's table leaves whole. PyTorch's own leaves topk.
WHOLE: dict[str, set[str]] = {"neuron": set(), "spyre": {"aten.triu.default", "aten.topk.default"}}


def case(function: Callable[[str], None]) -> Callable[[str], None]:
    CASES[function.__name__] = function
    return function


def close(got: torch.Tensor, want: torch.Tensor, device: str) -> None:
    assert got.device.type == device, got.device
    torch.testing.assert_close(got.cpu(), want)


def model() -> torch.nn.Module:
    nn = torch.nn
    return nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 4), nn.Softmax(-1))


@case
def a_model_gives_what_the_cpu_gives_eagerly(device: str) -> None:
    ours, x = model(), torch.randn(3, 8)
    with torch.no_grad():
        want = ours(x)
        close(accelplug.compile(ours.to(device), fullgraph=True)(x.to(device)), want, device)


@case
def a_training_step_changes_the_parameters_as_on_the_cpu(device: str) -> None:
    ours, x = model(), torch.randn(3, 8)
    theirs = copy.deepcopy(ours).to(device)
    compiled = accelplug.compile(theirs, fullgraph=True)
    for run, parameters, given in ((ours, ours.parameters(), x), (compiled, theirs.parameters(), x.to(device))):
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        for _ in range(2):
            run(given).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    for got, want in zip(theirs.parameters(), ours.parameters(), strict=True):
        close(got.detach(), want.detach(), device)


@case
def what_a_graph_changes_in_place_is_changed(device: str) -> None:
    def step(total: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        total.add_(x)
        return total, total[1:] * 2

    total = torch.ones(3, device=device)
    same, twice = accelplug.compile(step)(total, torch.arange(3.0, device=device))
    close(total, torch.tensor([1.0, 2.0, 3.0]), device)
    close(twice, torch.tensor([4.0, 6.0]), device)
    assert same is total


@case
def a_view_that_a_graph_returns_is_one(device: str) -> None:
    x = torch.zeros(2, 3, device=device)
    view = accelplug.compile(lambda x: x.t())(x)
    x.fill_(1)
    close(view, torch.ones(3, 2), device)


@case
def graphs_on_both_sides_of_a_break_are_compiled(device: str) -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        y = x.exp()
        torch._dynamo.graph_break()
        return y.softmax(-1)

    x = torch.randn(4)
    close(accelplug.compile(broken)(x.to(device)), x.exp().softmax(-1), device)


@case
def a_copy_to_the_host_inside_a_graph_is_a_copy(device: str) -> None:
    x = torch.zeros(4, device=device)
    (host, back) = accelplug.compile(lambda x: ((y := x.cpu()), y.to(x.device)))(x)
    x.fill_(1)
    assert host.device.type == "cpu"
    assert host.tolist() == [0, 0, 0, 0]
    close(back, torch.zeros(4), device)


@case
def a_graph_may_make_its_tensors_itself(device: str) -> None:
    close(
        accelplug.compile(lambda: torch.full((3,), 2.0, device=device).cumsum(0))(), torch.tensor([2.0, 4, 6]), device
    )


@case
def half_precision_and_integers_are_compiled(device: str) -> None:
    table, which = torch.randn(5, 4).half(), torch.tensor([3, 0, 3])
    got = accelplug.compile(lambda table, which: table[which] * 2)(table.to(device), which.to(device))
    close(got, table[which] * 2, device)


@case
def a_branch_that_depends_on_data_is_compiled(device: str) -> None:
    def either(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: x.softmax(0), lambda x: x - torch.ones_like(x), (x,))

    for x in (torch.ones(3), -torch.ones(3)):
        close(accelplug.compile(either, fullgraph=True)(x.to(device)), either(x), device)


@case
def random_numbers_follow_the_seed(device: str) -> None:
    draw = accelplug.compile(lambda x: torch.nn.functional.dropout(x, 0.5) + torch.rand_like(x))
    x = torch.ones(1000, device=device)
    torch.manual_seed(7)
    first, second = draw(x), draw(x)
    torch.manual_seed(7)
    assert torch.equal(draw(x), first)
    assert not torch.equal(first, second)
    assert 1.3 < first.mean().item() < 1.7


@case
def symbolic_shapes_are_refused_and_each_new_shape_is_compiled(device: str) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.softmax(-1)

    with pytest.raises(Exception, match=f"{device} compiles static shapes only, and the graph has symbolic ones"):
        torch.compile(f, backend="accelplug", dynamic=True)(torch.ones(4, device=device))
    for size in (3, 4, 5):
        close(accelplug.compile(f)(torch.ones(size, device=device)), torch.ones(size).softmax(-1), device)


@case
def graphs_are_taken_apart_with_the_devices_own_table(device: str) -> None:
    seen: list[set[str]] = []

    def look(graph: torch.fx.Graph) -> None:
        seen.append({str(node.target) for node in graph.nodes})

    def largest(x: torch.Tensor) -> torch.Tensor:
        return x.triu().topk(2).values

    x = torch.randn(3, 4)
    with torch._inductor.config.patch(post_grad_custom_pre_pass=look):  # such a graph isn't cached
        close(accelplug.compile(largest)(x.to(device)), largest(x), device)
    assert seen[0] & {"aten.triu.default", "aten.topk.default"} == WHOLE[device], seen[0]


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
        with pytest.raises(Exception, match=r"spyre \(simulated\) has no float64, .* with .*device_compiling\.py"):
            f(x)


@case
def the_default_backend_is_the_devices_too(device: str) -> None:
    def largest(x: torch.Tensor) -> torch.Tensor:
        return x.triu().topk(2).values

    x, before = torch.randn(3, 4), compiled_on(device)
    for arguments in ({}, {"backend": "inductor"}, {"mode": "max-autotune"}, {"options": {"fallback_random": True}}):
        torch._dynamo.reset()
        close(torch.compile(largest, **arguments)(x.to(device)), largest(x), device)
        assert compiled_on(device) - before == 1, arguments
        before += 1
        torch.testing.assert_close(torch.compile(largest, **arguments)(x), largest(x))
        assert compiled_on(device) == before, "a graph on the CPU is Inductor's"
    with pytest.raises(Exception, match=f"aotinductor can't compile for {device}: leave out use_aoti"):
        torch.compile(largest, options={"use_aoti": True})(x.to(device))
    with pytest.raises(Exception, match=r"static shapes only.* Use accelplug.compile\(model\)"):
        torch.compile(largest, dynamic=True)(x.to(device))


@case
def the_sdks_own_backend_is_there_under_its_name(device: str) -> None:
    if device == "neuron":
        x = torch.randn(4)
        close(torch.compile(lambda x: x.softmax(-1), backend="neuron")(x.to(device)), x.softmax(-1), device)


def compiled_on(device: str) -> int:
    """How many graphs accelplug has compiled for the device."""
    return torch._dynamo.utils.counters["accelplug"][f"graphs compiled for {device}"]


def caches() -> dict[str, int]:
    """Hits and misses of both of torch's caches."""
    counters = torch._dynamo.utils.counters
    places = {"fxgraph": counters["inductor"], "autograd": counters["aot_autograd"]}
    return {
        f"{kind} {what}": place[f"{kind}_cache_{what}"] for kind, place in places.items() for what in ("hit", "miss")
    }


def main() -> None:
    device = str(accelplug.auto())
    lazy = not {"torch._dynamo", "torch._inductor"} & sys.modules.keys()
    failures: dict[str, str] = {}
    for name in sys.argv[1:] or CASES:
        torch._dynamo.reset()
        torch.manual_seed(0)
        try:
            CASES[name](device)
        except BaseException:  # pytest.fail is one
            failures[name] = traceback.format_exc()
    print(json.dumps({"lazy": lazy, "failures": failures, "caches": caches()}))


if __name__ == "__main__":
    main()
