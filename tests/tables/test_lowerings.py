"""A device's lowerings are used in graphs compiled with its table, and change nothing anywhere else."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch._inductor import lowering
from torch._inductor.utils import fresh_cache

from accelplug.compiling import compile_with
from accelplug.errors import CompileRefusedError
from accelplug.specs import Decompositions
from accelplug.tables.decompositions import Table, build
from accelplug.tables.lowerings import install

aten = torch.ops.aten
NUMBERS = torch.tensor([1.0, math.nan, 3.0])  # nanmedian: 1. median: nan. largest: nan, too

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


@pytest.fixture(autouse=True)
def own_cache() -> Iterator[None]:
    """Torch's caches don't tell who else has put lowerings into the slots."""
    with fresh_cache():
        yield


@pytest.fixture(autouse=True)
def slots(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[Any, Callable[..., Any]]]:
    """Inductor's slots for lowerings, empty again afterwards."""
    with monkeypatch.context() as patch:
        for op in list(lowering.user_lowerings):
            patch.delitem(lowering.user_lowerings, op)
        here = lowering.user_lowerings
        yield here
        here.clear()


def as_median(x: Any) -> Any:
    """Lowers nanmedian to a call of median: with NaN among the numbers the result tells."""
    return lowering.lowerings[aten.median.default](x)


def nothing(x: Any) -> None:
    """Leaves every node to others."""


def table(function: Callable[..., Any], lowered_on: str = "") -> Table:
    changes = Decompositions(lowerings={aten.nanmedian.default: function})
    return build("cpu", changes, origin="acme 1.0", lowered_on=lowered_on)


def nanmedian(backend: object) -> float:
    """What newly compiled code makes of NUMBERS."""
    torch._dynamo.reset()

    def f(x: torch.Tensor) -> torch.Tensor:
        return x.nanmedian()

    return torch.compile(f, backend=backend)(NUMBERS).item()


def test_a_lowering_is_used_with_its_table_and_only_then() -> None:
    backend = functools.partial(compile_with, table(as_median))

    assert nanmedian("inductor") == 1
    assert math.isnan(nanmedian(backend))
    assert nanmedian("inductor") == 1
    assert nanmedian(functools.partial(compile_with, table(nothing))) == 1
    assert math.isnan(nanmedian(backend))


def test_the_cache_of_fx_graphs_tells_tables_apart_by_itself() -> None:
    """A backward graph is compiled when it is first run, where `keyed` no longer holds."""
    from torch._dynamo.utils import counters
    from torch._functorch import config
    from torch._inductor.compile_fx import compile_fx

    install(table(as_median))
    vendor = functools.partial(compile_fx, decompositions=table(as_median))
    none = functools.partial(compile_fx, decompositions=table(nothing))
    counters.clear()
    with config.patch(enable_autograd_cache=False):
        found = [nanmedian(backend) for backend in (vendor, none, vendor, none)]
    assert [math.isnan(value) for value in found] == [True, False, True, False]
    assert (counters["inductor"]["fxgraph_cache_hit"], counters["inductor"]["fxgraph_cache_miss"]) == (2, 2)


def test_inductors_own_lowerings_stay_as_they_are() -> None:
    before = dict(lowering.lowerings)
    nanmedian(functools.partial(compile_with, table(as_median)))
    assert lowering.lowerings == before


def test_nodes_on_another_device_type_are_lowered_as_before() -> None:
    assert nanmedian(functools.partial(compile_with, table(as_median, lowered_on="meta"))) == 1


def test_a_lowering_that_was_there_before_goes_on(slots: dict[Any, Callable[..., Any]]) -> None:
    slots[aten.nanmedian.default] = as_median  # another package's, for all devices

    backend = functools.partial(compile_with, table(nothing))
    assert math.isnan(nanmedian(backend))
    assert math.isnan(nanmedian("inductor"))


def test_a_slot_that_another_package_has_taken_over_is_shared_with_it(slots: dict[Any, Callable[..., Any]]) -> None:
    backend = functools.partial(compile_with, table(as_median))
    install(table(as_median))
    slots[aten.nanmedian.default] = nothing

    assert math.isnan(nanmedian(backend))
    ours = slots[aten.nanmedian.default]
    install(table(as_median))
    assert slots[aten.nanmedian.default] is ours


def test_a_lowering_is_used_inside_subgraphs() -> None:
    changes = Decompositions(lowerings={aten.nanmedian.default: as_median})
    backend = functools.partial(compile_with, build("cpu", changes, origin="acme 1.0"))

    def f(x: torch.Tensor, whether: torch.Tensor) -> torch.Tensor:
        return torch.cond(whether, lambda x: x.nanmedian(), lambda x: x.median(), (x,))

    assert torch.compile(f, backend=backend)(NUMBERS, torch.tensor(True)).isnan()


def test_an_excluded_operator_that_inductor_cannot_lower_goes_to_pytorchs_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CI", "1")  # where it is set, Inductor insists on its decomposition
    backend = functools.partial(compile_with, build("cpu", Decompositions(exclude=(aten.triu,)), origin="acme 1.0"))
    x = torch.ones(3, 3)
    assert torch.equal(torch.compile(lambda x: x.triu(), backend=backend)(x), x.triu())


def test_a_torch_without_such_slots_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(lowering, "user_lowerings")
    with pytest.raises(CompileRefusedError, match=r"torch 2.* can't lower operators for cpu alone"):
        install(table(as_median))
    install(build("cpu", Decompositions(), origin="acme 1.0"))  # one without lowerings needs none
