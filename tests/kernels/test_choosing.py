"""Which kernel runs a call: the first that takes it, else the next, else what PyTorch had for it before."""

from __future__ import annotations

import importlib
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from backend_site import Site
from kernel_backend import live, put

import accelplug
from accelplug.errors import BackendError
from accelplug.tables.kernel_ops import KernelOp

X = torch.zeros(4)


def test_a_kernel_runs_in_the_operators_place(site: Site) -> None:
    live(site, "kernel()")
    assert put(X).tolist() == [1] * 4


def test_a_call_that_no_kernel_takes_goes_to_what_was_there_before(site: Site) -> None:
    live(site, "kernel(accepts={'x': TensorRule(multiples={0: 3})})")
    assert put(X).tolist() == [0] * 4
    assert put(torch.zeros(6)).tolist() == [1] * 6


def test_the_next_kernel_gets_what_the_first_refuses(site: Site) -> None:
    live(site, "kernel(accepts={'x': TensorRule(ranks=(2,))}, priority=1), kernel('two', 2)")
    assert put(X).tolist() == [2] * 4
    assert put(torch.zeros(1, 1)).tolist() == [[1]]


@pytest.mark.parametrize(
    ("kernels", "first"),
    [
        ("kernel('b', 2), kernel('a', 1)", 1),  # by name
        ("kernel('a', 1), kernel('b', 2, priority=1)", 2),
        ("kernel('b', 2, provider='aaa'), kernel('a', 1)", 2),  # by provider before name
    ],
)
def test_kernels_are_tried_by_priority_then_provider_and_name(site: Site, kernels: str, first: int) -> None:
    live(site, kernels)
    assert put(X)[0] == first


def test_values_that_are_no_tensors_decide_too(site: Site) -> None:
    live(site, "kernel(values={'mode': ('b', 'c'), 'n': (2, None)})")
    assert put(X)[0] == 0
    assert put(X, mode="c", n=2)[0] == 1
    assert put(X, mode="c", n=2.0)[0] == 1
    assert put(X, mode="c", n=True)[0] == 0


def test_a_function_may_refuse_and_its_reason_is_counted(site: Site) -> None:
    table = live(site, "kernel(refuses=lambda x, y, *, n, mode, flag: 'too small' if x.numel() < 8 else None)")
    assert [put(X)[0], put(torch.zeros(8))[0]] == [0, 1]
    (count,) = table.counts()
    assert (count.calls, count.passed_on, count.said) == (1, 1, {"too small": 1})


def test_calls_and_refusals_are_counted_by_what_was_asked(site: Site) -> None:
    table = live(site, "kernel(accepts={'x': TensorRule(dtypes=('float32',), at_most={-1: 8}), '*': TensorRule()})")
    for tensor in (X, X, X.double(), torch.zeros(9), torch.zeros(())):
        put(tensor)

    (count,) = table.counts()
    assert count.calls == 2
    assert count.refused == {"x is float32": 1, "x has a dimension -1 of at most 8": 2}
    table.reset_counts()
    (count,) = table.counts()
    assert (count.calls, count.refused) == (0, {})


def test_the_kernel_gets_all_arguments_defaults_too(site: Site) -> None:
    live(site, "kernel(load=loads(lambda x, y, *, n, mode, flag: x + 5), reference=plus(5))")
    assert put(X)[0] == 5


def test_a_kernel_is_loaded_when_it_is_first_wanted(site: Site) -> None:
    table = live(site, "kernel('one', 1), kernel('two', 2)")
    module = importlib.import_module(table.all[0].kernel.load.__module__)
    assert module.LOADED == []
    put(X)
    put(X)
    assert module.LOADED == ["one"]


def test_a_kernel_without_its_sdk_is_left_out_with_the_reason(site: Site) -> None:
    table = live(site, "kernel(load=no_sdk, priority=1), kernel('two', 2)")
    for _ in range(3):
        assert put(X)[0] == 2
    assert [count.unavailable for count in table.counts()] == ["acme_sdk is not installed", ""]
    assert [count.passed_on for count in table.counts()] == [1, 0]  # it isn't asked again


def test_an_operator_in_cpp_is_called_without_python(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """``aten::relu`` in the place of ``aten::hardswish``, which nothing else in these tests uses."""
    source = "load=loads(torch.ops.aten.relu.default), reference=torch.relu, accepts={'self': TensorRule(ranks=(1,))}"
    table = live(site, f"kernel(op='aten::hardswish', {source})")
    x = torch.tensor([-1.0, 1.0])
    for _ in range(3):
        assert torch.ops.aten.hardswish.default(x).tolist() == [0, 1]
    monkeypatch.delattr(KernelOp, "_given")  # what a call through Python begins with
    assert torch.ops.aten.hardswish.default(x).tolist() == [0, 1]
    assert table.counts()[0].calls == 4


def test_an_operator_with_other_arguments_is_refused_when_it_is_loaded(site: Site) -> None:
    live(site, "kernel(load=loads(torch.ops.aten.mm.default))")
    with pytest.raises(BackendError, match=r"kernel acme/one: its load returned an operator with other arguments"):
        put(X)


@pytest.mark.usefixtures("restless_threads")
def test_threads_count_exactly_while_the_order_changes(site: Site) -> None:
    table = live(site, "kernel('one', 1), kernel('two', 2)")

    def work(_: int) -> None:
        for number in range(200):
            with accelplug.kernels(disable="acme/one"):
                assert put(X)[0] == 2
            with accelplug.kernels(order=["acme"], only=f"acme/{'two' if number % 2 else 'one'}"):
                assert put(X)[0] == 1 + number % 2

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert [count.calls for count in table.counts()] == [400, 1200]


def test_a_table_that_is_given_up_leaves_every_call_to_what_was_before(site: Site) -> None:
    live(site, "kernel()")
    site.clear()
    assert put(X)[0] == 0


def test_the_kernel_is_an_operator_that_opcheck_accepts(site: Site) -> None:
    (made,) = live(site, "kernel()").all
    assert made.op is torch.ops.accelplug_kernels.acme__acme__one.kernel_tests_put
    torch.library.opcheck(made.op, (X,))
