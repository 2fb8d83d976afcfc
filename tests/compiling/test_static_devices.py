"""torch.compile on a device whose compiler takes static shapes only: what is compiled anew, and what is refused."""

from __future__ import annotations

import pytest
import table_backend
import torch
from backend_site import Site
from table_backend import NUMBERS, live, median
from torch._dynamo.exc import BackendCompilerFailed

import accelplug
from accelplug import tables

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def test_a_static_device_compiles_each_shape_anew(site: Site) -> None:
    live(site, compiler="static_shapes=True")
    f = accelplug.compile(median)
    assert [f(torch.arange(1.0, n)).item() for n in (4, 5, 6)] == [1, 1, 1]


def test_past_the_limit_a_new_shape_is_an_error_however_often_it_is_tried(site: Site) -> None:
    live(site, compiler="static_shapes=True")
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
    live(site, compiler="static_shapes=True")
    f = accelplug.compile(lambda x, n: x.median() * n, recompile_limit=1)
    assert f(NUMBERS, 2) == 2
    with pytest.raises(BackendCompilerFailed, match=r"again with the same shapes: .* TORCH_LOGS=recompiles"):
        f(NUMBERS, 3)


def test_each_call_of_compile_has_a_limit_of_its_own(site: Site) -> None:
    live(site, compiler="static_shapes=True")
    for _ in range(3):
        assert accelplug.compile(median, recompile_limit=1)(NUMBERS) == 1


def test_a_static_device_is_told_by_the_models_parameters(site: Site) -> None:
    table_backend.install(site, "metal", torch_type="meta", compiler="static_shapes=True")
    with pytest.raises(accelplug.AccelplugError, match="dynamic=True, but meta compiles static shapes only"):
        accelplug.compile(torch.nn.Linear(2, 2, device="meta"), dynamic=True)
    accelplug.compile(torch.nn.Linear(2, 2, device="cpu"), dynamic=True)


def test_a_symbolic_shape_is_refused_with_what_to_do(site: Site) -> None:
    live(site, compiler="static_shapes=True")
    f = torch.compile(lambda x, n: x.median() * n, backend="accelplug", dynamic=True)
    said = r"cpu compiles static shapes only, and the graph has symbolic ones: .*\(s\d+,\).* pass dynamic=False"
    with pytest.raises(BackendCompilerFailed, match=said):
        f(NUMBERS, 4)


def test_the_second_shape_is_refused_where_torch_makes_it_symbolic(site: Site) -> None:
    live(site, compiler="static_shapes=True")
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
