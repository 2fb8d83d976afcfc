"""``torch.compile(backend="accelplug")`` gives what eager gives on the CPU, and refuses what it can't do."""

from __future__ import annotations

import copy
import functools
import json
import tempfile
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

import accelplug
from accelplug import tables
from accelplug.conformance.checks import Skip, check, expect
from accelplug.conformance.comparing import close, dtype_of, numbers
from accelplug.conformance.programs import beside, output
from accelplug.conformance.subject import Subject
from accelplug.specs.capabilities import Feature

LIMIT = 300.0  # compilers are slow, and this is about what they give
REMEDY = "compile the graph with the CPU's Inductor beside it: `TORCH_LOGS=+dynamo,output_code` shows both"

# Compiles a function and a training step, and says what torch's caches had of them.
CACHED = """
import json
x = torch.ones(4, 4, device=D, requires_grad=True)
accelplug.compile(lambda x: (x @ x).softmax(-1).exp())(x).sum().backward()
counters = torch._dynamo.utils.counters
print(json.dumps({
    "hits": counters["inductor"]["fxgraph_cache_hit"] + counters["aot_autograd"]["autograd_cache_hit"],
    "misses": counters["inductor"]["fxgraph_cache_miss"],
}))
"""


def compiled(limit: float = LIMIT, quick: bool = False) -> Callable[[Callable[[Subject], Any]], Any]:
    """A check that starts with nothing compiled."""

    def mark(function: Callable[[Subject], Any]) -> Any:
        @functools.wraps(function)
        def checked(subject: Subject) -> Any:
            torch._dynamo.reset()
            torch.manual_seed(0)
            return function(subject)

        return check(REMEDY, limit=limit, quick=quick)(checked)

    return mark


def _static(subject: Subject) -> bool:
    device = tables.tables_for(subject.type)
    return device is not None and device.compiler.static_shapes


def _model(subject: Subject) -> nn.Module:
    layers = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 4), nn.Softmax(-1))
    return layers.to(dtype_of(subject))


@compiled(quick=True)
def a_model_gives_what_the_cpu_gives_eagerly(subject: Subject) -> None:
    model, x = _model(subject), numbers(subject, 3, 8)
    with torch.no_grad():
        wanted = model(x)
        close(accelplug.compile(model.to(subject.type), fullgraph=True)(x.to(subject.type)), wanted, subject)


@compiled()
def two_steps_of_training_give_the_cpus_weights(subject: Subject) -> None:
    if reason := subject.cannot(Feature.training):
        raise Skip(reason)
    ours, x = _model(subject), numbers(subject, 3, 8)
    theirs = copy.deepcopy(ours).to(subject.type)
    step = accelplug.compile(theirs, fullgraph=True)
    for run, model, given in ((ours, ours, x), (step, theirs, x.to(subject.type))):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            run(given).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    close([p.detach() for p in theirs.parameters()], [p.detach() for p in ours.parameters()], subject)


@compiled()
def what_a_graph_changes_in_place_is_changed(subject: Subject) -> None:
    def step(total: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        total.add_(x)
        return total, total[1:] * 2

    total, x = numbers(subject, 4).to(subject.type), numbers(subject, 4).to(subject.type)
    same, twice = accelplug.compile(step)(total, x)
    close((total, twice), (numbers(subject, 4) * 2, numbers(subject, 4)[1:] * 4), subject)
    expect(same is total, "the changed input is returned as another tensor")


@compiled()
def graphs_on_both_sides_of_a_break_are_compiled(subject: Subject) -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        y = x.exp()
        torch._dynamo.graph_break()
        return y.softmax(-1)

    x = numbers(subject, 4)
    close(accelplug.compile(broken)(x.to(subject.type)), broken(x), subject)


@compiled()
def random_numbers_follow_the_seed(subject: Subject) -> None:
    draw = accelplug.compile(lambda x: nn.functional.dropout(x, 0.5) + torch.rand_like(x))
    x = torch.ones(1000, device=subject.type)
    torch.manual_seed(7)
    first, second = draw(x), draw(x)
    torch.manual_seed(7)
    expect(torch.equal(draw(x), first), "the same seed gives other numbers")
    expect(not torch.equal(first, second), "the same numbers come again and again")


@compiled()
def every_shape_of_a_device_with_static_shapes_is_compiled_anew_and_symbolic_ones_are_refused(subject: Subject) -> None:
    """Dynamic shapes are compiled once on a device that takes them."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return x.softmax(-1)

    dynamic = torch.compile(function, backend="accelplug", dynamic=True)
    if _static(subject):
        try:
            dynamic(numbers(subject, 4).to(subject.type))
        except Exception as error:
            expect("static shapes only" in str(error), f"refused, and the error doesn't say why: {error}")
        else:
            raise AssertionError("a graph with symbolic shapes was compiled for a device with static ones")
        dynamic = accelplug.compile(function)
    for size in (3, 4, 5):
        close(dynamic(numbers(subject, size).to(subject.type)), function(numbers(subject, size)), subject)


@check(
    "let the compiler's code be pickled into torch's caches, and put no address or time into the graph",
    limit=LIMIT,
    quick=False,
)
def a_second_process_finds_the_graphs_in_torchs_caches(subject: Subject) -> dict[str, Any]:
    name = beside(subject)
    with tempfile.TemporaryDirectory() as folder:
        runs = [
            json.loads(output(CACHED, live=name, limit=140, TORCHINDUCTOR_CACHE_DIR=folder).splitlines()[-1])
            for _ in range(2)
        ]
    first, second = runs
    if not first["misses"]:
        raise Skip("the device's compiler is not Inductor, and keeps its graphs itself")
    expect(second["hits"] > 0, f"the second process found nothing: {second}")
    expect(second["misses"] == 0, f"the second process compiled {second['misses']} graphs again")
    return {"first": first, "second": second}
