"""What any model needs of ``torch.compile``, on a simulated device. device_compiling.py runs it."""

from __future__ import annotations

import copy

import pytest
import torch
from compiled_case import case, close, neuron_only

import accelplug

# Of two operators those that the device's table leaves whole. PyTorch's own leaves topk.
WHOLE: dict[str, set[str]] = {"neuron": set(), "spyre": {"aten.triu.default", "aten.topk.default"}}


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
def linear_layers_large_enough_for_onednn_give_the_same(device: str) -> None:
    """See csrc/products.h: one without a bias, and more than one row."""
    linear, x = torch.nn.Linear(300, 300, bias=False), torch.randn(5, 300)
    with torch.no_grad():
        want = linear(x)
        close(accelplug.compile(linear.to(device))(x.to(device)), want, device)


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
    made = accelplug.compile(lambda: torch.full((3,), 2.0, device=device).cumsum(0))
    close(made(), torch.tensor([2.0, 4.0, 6.0]), device)


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


@neuron_only
def the_sdks_own_backend_is_there_under_its_name(device: str) -> None:
    x = torch.randn(4)
    close(torch.compile(lambda x: x.softmax(-1), backend="neuron")(x.to(device)), x.softmax(-1), device)
