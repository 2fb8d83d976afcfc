"""A device's decomposition table: PyTorch's with the backend's changes, one for all, fixed, and known by reference."""

from __future__ import annotations

import copy
import importlib
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import table_backend
import torch
from backend_site import Site
from pydantic import ValidationError
from torch._inductor import config
from torch._inductor.decomposition import select_decomp_table

import accelplug
from accelplug import ops, tables
from accelplug.errors import BackendError, CompileRefusedError
from accelplug.specs import CompilerSpec, Decompositions, StandIn
from accelplug.tables import decompositions
from accelplug.tables.decompositions import Table, build, keyed, lookup

aten = torch.ops.aten


def smallest(x: torch.Tensor) -> torch.Tensor:
    return aten.kthvalue.default(x, 1)[0]


def table(device_type: str = "cpu", origin: str = "acme 1.0", **changes: Any) -> Table:
    return build(device_type, Decompositions(**changes), origin=origin)


def test_a_table_is_pytorchs_with_the_changes() -> None:
    built = table(add={aten.median.default: smallest}, exclude=(aten.triu, aten.gelu.default))

    stock = select_decomp_table()
    gone = {aten.triu.default, aten.triu.out, aten.gelu.default}
    kept = {op: stock[op] for op in stock if op not in gone}
    assert dict(built) == kept | ops.composites() | {aten.median.default: smallest}
    assert set(built.whole) == gone


def test_building_one_leaves_pytorchs_table_as_it_was() -> None:
    before = dict(select_decomp_table())
    table(add={aten.silu.default: smallest}, exclude=(aten.mm,))
    assert select_decomp_table() == before


@pytest.mark.parametrize("change", ["pop", "clear", "update", "setdefault", "popitem", "__setitem__", "__delitem__"])
def test_a_table_cannot_be_changed(change: str) -> None:
    with pytest.raises(TypeError, match="the decomposition table of cpu is fixed"):
        getattr(table(), change)(aten.mm.default)


def test_a_table_pickles_as_a_reference() -> None:
    built = table(add={aten.median.default: smallest})

    assert len(pickle.dumps(built)) < 200
    assert pickle.loads(pickle.dumps(built)) is built
    assert copy.deepcopy(built) is built


def test_a_reference_to_another_processs_table_is_an_error() -> None:
    with pytest.raises(BackendError, match=r"no decomposition table 0123 for cpu in this process .* other versions"):
        lookup("cpu", "0123")


def test_a_reference_builds_the_table_where_the_backend_is_installed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    table_backend.install(site, "acme", torch_type="meta")
    built = tables.tables_for("meta").decompositions()
    reference = pickle.dumps(built)

    monkeypatch.setattr(decompositions, "_tables", {})  # as in a process that hasn't compiled anything yet
    tables.forget()
    assert pickle.loads(reference) == built
    assert pickle.loads(reference) is not built


def test_equal_changes_make_one_table_and_others_another_fingerprint() -> None:
    one = table(add={aten.median.default: smallest})
    assert table(add={aten.median.default: smallest}) is one
    others = [
        table(add={aten.nanmedian.default: smallest}),
        table(add={aten.median.default: smallest}, version="2"),
        table(add={aten.median.default: smallest}, exclude=(aten.mm,)),
        table(add={aten.median.default: smallest}, origin="acme 1.1"),
        table(add={aten.median.default: smallest}, device_type="meta"),
        table(add={aten.median.default: smallest}, lowerings={aten.mm.default: smallest}),
        build("cpu", Decompositions(add={aten.median.default: smallest}), origin="acme 1.0", cache_key="compiler 3"),
        build("cpu", Decompositions(add={aten.median.default: smallest}), origin="acme 1.0", lowered_on="meta"),
    ]
    assert len({one.fingerprint, *(other.fingerprint for other in others)}) == 9


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"add": {aten.sort: smallest}}, "acme 1.0 is not an operator overload .*; its overloads: default, stable"),
        ({"lowerings": {"mm": smallest}}, "'mm' in the decompositions or lowerings of acme 1.0 is not an operator"),
        ({"exclude": ("mm",)}, "'mm' in `exclude` of acme 1.0 is not an operator such as"),
        ({"add": {aten.rms_norm.default: smallest}}, "aten.rms_norm.default .* would have no effect"),
        ({"add": {aten.median.default: torch.nn.Identity()}}, "can't be part of a cache key"),
    ],
)
def test_what_could_not_work_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BackendError, match=message):
        table(**changes)


@pytest.mark.parametrize("excluded", [aten.median.default, aten.median])
def test_an_operator_cannot_be_added_and_excluded(excluded: object) -> None:
    with pytest.raises(ValidationError, match=r"aten.median.default in both `add` and `exclude`"):
        Decompositions(add={aten.median.default: smallest}, exclude=(excluded,))


@pytest.mark.parametrize("backend", ["", "accelplug"])
def test_a_compiler_is_another_one_than_accelplug(backend: str) -> None:
    with pytest.raises(ValidationError, match="name the Dynamo backend of the SDK, or None"):
        CompilerSpec(backend=backend)


def test_the_tag_of_a_table_is_set_in_this_thread_and_beside_the_users() -> None:
    from torch.compiler import config as compiler_config

    built = table()
    with ThreadPoolExecutor(1) as other, compiler_config.patch(cache_key_tag="mine "), keyed(built):
        assert compiler_config.cache_key_tag == f"mine accelplug:cpu:{built.fingerprint}"
        assert other.submit(lambda: compiler_config.cache_key_tag).result() == ""
    assert compiler_config.cache_key_tag == ""


# from the hooks


def test_a_device_whose_backend_has_no_hooks_has_no_tables() -> None:
    assert tables.tables_for("cpu") is None
    assert tables.tables_for("no_such_device") is None


def test_the_hooks_are_asked_once_and_all_threads_get_the_same_table(site: Site) -> None:
    module = table_backend.install(site, "acme", torch_type="meta", decompositions=table_backend.LARGEST)
    barrier = threading.Barrier(8)

    def get(_: int) -> Table:
        barrier.wait()
        return tables.tables_for("meta").decompositions()

    with ThreadPoolExecutor(8) as pool:
        (one,) = {id(table): table for table in pool.map(get, range(8))}.values()
    acme = importlib.import_module(module)
    assert one[aten.median.default] is acme.largest
    assert sorted(acme.ASKED) == ["compiler", "decompositions"]


def test_with_fallback_random_the_random_operators_stay_whole(site: Site) -> None:
    table_backend.install(site, "acme", torch_type="meta")
    device = tables.tables_for("meta")

    usual, whole = device.decompositions(), device.decompositions(fallback_random=True)
    assert usual.keys() - whole.keys() >= {aten.bernoulli.p}
    assert whole[aten.median.default] is usual[aten.median.default]
    assert usual.fingerprint != whole.fingerprint
    with config.patch(fallback_random=True):
        assert device.decompositions() is whole


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("**1 / 0", r"hook accelplug_decompositions of backend acme \(acme-backend 1.2.3\) failed: ZeroDivisionError"),
        ("adds={}", "hook accelplug_decompositions of backend acme .* failed: ValidationError"),
        (") and str(1", r"accelplug_decompositions .* must return one Decompositions, got \['1'\]"),
        ("add={aten.mm: smallest}", "acme-backend 1.2.3 is not an operator overload"),
    ],
)
def test_a_hook_that_fails_is_named_with_its_backend(site: Site, source: str, message: str) -> None:
    table_backend.install(site, "acme", torch_type="meta", decompositions=source)
    with pytest.raises(BackendError, match=message):
        tables.tables_for("meta").decompositions()


def test_a_hook_with_nothing_to_say_is_as_one_left_out(site: Site) -> None:
    table_backend.install(site, "acme", torch_type="meta", decompositions=") and None or (None")
    stock = select_decomp_table()
    assert tables.tables_for("meta").decompositions().keys() == {*stock, *ops.composites()}


def test_a_device_type_of_several_backends_is_the_live_ones(site: Site) -> None:
    table_backend.install(site, "acme", torch_type="cpu")
    with pytest.raises(CompileRefusedError, match=r"'cpu' is the device type of acme and cpu, .*select\('acme'\)"):
        tables.tables_for("cpu")

    accelplug.select("cpu")
    assert tables.tables_for("cpu") is None
    accelplug.select("acme")
    assert aten.median.default in tables.tables_for("cpu").decompositions()


def test_the_device_type_that_inductor_sees_can_be_another_one(site: Site) -> None:
    table_backend.install(site, "acme", torch_type="meta")
    tables.stand_in("meta", StandIn(lowered_on="cpu"))
    assert tables.tables_for("meta").decompositions().lowered_on == "cpu"
    with pytest.raises(accelplug.AccelplugError, match="the tables of meta are built already"):
        tables.stand_in("meta", StandIn(lowered_on="meta"))
