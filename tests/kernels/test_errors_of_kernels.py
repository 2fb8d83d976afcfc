"""What a kernel raises is classed (case C26): only "I don't take this" goes to the next; nothing demotes a kernel."""

from __future__ import annotations

import traceback

import pytest
import torch
from backend_site import Site
from kernel_backend import live, put

import accelplug

X = torch.zeros(4)

# A kernel that raises at its first call only.
ONCE = """kernel(load=loads(once(@ERROR@)), priority=1), kernel("two", 2)]

import accelplug

def once(error):
    errors = [error]
    def function(x, y, *, n, mode, flag):
        if errors:
            raise errors.pop()
        return x + 1
    return function

REST = ["""


def raises_once(site: Site, error: str):
    return live(site, ONCE.replace("@ERROR@", error))


def test_what_a_kernel_does_not_take_goes_to_the_next_one(site: Site) -> None:
    table = raises_once(site, "NotImplementedError('no odd sizes')")
    assert [put(X)[0], put(X)[0]] == [2, 1]
    first, second = table.counts()
    assert (first.calls, first.passed_on, first.said) == (1, 1, {"no odd sizes": 1})
    assert second.calls == 1


def test_a_refused_fallback_inside_a_kernel_is_the_callers_to_see_and_not_taken_for_a_refused_call(site: Site) -> None:
    table = raises_once(site, "accelplug.FallbackRefusedError('over the budget')")
    with pytest.raises(accelplug.FallbackRefusedError, match="over the budget"):
        put(X)
    assert [count.passed_on for count in table.counts()] == [0, 0]


def test_a_kernel_in_cpp_says_it_in_the_same_way(site: Site) -> None:
    """``int_repr`` is for quantized tensors: for others PyTorch itself throws ``c10::NotImplementedError``."""
    load = "load=lambda: torch.ops.aten.int_repr.default, reference=torch.nn.functional.hardswish"
    table = live(site, f"kernel(op='aten::hardswish', {load})")
    for _ in range(3):  # the first call loads it, and goes through Python
        assert torch.ops.aten.hardswish.default(X + 3).tolist() == [3] * 4
    (count,) = table.counts()
    assert (count.calls, count.passed_on, count.said["c10::NotImplementedError"]) == (0, 3, 2)
    assert "c10::NotImplementedError (2 calls)" in table.why_not("aten::hardswish")


def test_what_no_kernel_takes_goes_to_what_was_there_before_with_its_arguments(site: Site) -> None:
    live(site, "kernel(load=loads(raises(NotImplementedError())))")
    assert put(torch.ones(4), X, mode="b", n=2).tolist() == [1] * 4


def test_an_operator_that_has_nothing_else_says_how_to_ask_why(site: Site) -> None:
    library = torch.library.Library("kernel_tests", "FRAGMENT")
    library.define("nothing_else(Tensor x) -> Tensor")
    live(site, "kernel(op='kernel_tests::nothing_else', load=no_sdk, reference=torch.clone)")
    with pytest.raises(NotImplementedError, match=r"kernel_tests::nothing_else: no kernel takes .* accelplug explain"):
        torch.ops.kernel_tests.nothing_else(X)


@pytest.mark.parametrize("error", ["OutOfMemoryError", "AcceleratorError"])
def test_out_of_memory_and_a_lost_device_are_the_callers_and_the_kernel_stays(site: Site, error: str) -> None:
    table = raises_once(site, f"torch.{error}('8 GiB')")
    with pytest.raises(getattr(torch, error), match="8 GiB") as caught:
        put(X)
    assert not getattr(caught.value, "__notes__", [])
    assert put(X)[0] == 1
    assert [count.calls for count in table.counts()] == [1, 0]


def test_a_bug_is_raised_with_the_kernels_name_and_the_kernel_stays(site: Site) -> None:
    table = raises_once(site, "TypeError('got an int')")
    with pytest.raises(TypeError, match="got an int") as caught:
        put(X)
    assert caught.value.__notes__ == ["raised by kernel acme/one of kernel_tests::put on acme"]
    assert put(X)[0] == 1
    assert [count.calls for count in table.counts()] == [1, 0]


def test_after_an_error_python_is_as_it_was(site: Site) -> None:
    """An exception that C++ swallows leaves Python's own state behind, unless it is never thrown."""
    raises_once(site, "NotImplementedError()")
    put(X)
    assert traceback.format_exc() == "NoneType: None\n"
    assert torch.ops.aten.add.Tensor(X, 1)[0] == 1


def test_a_kernel_inside_a_kernel_passes_on_only_its_own_call(site: Site) -> None:
    """The outer one calls the operator again, with a mode that the inner one refuses while it runs."""
    source = """kernel("outer", load=loads(outer), values={"mode": ("a",)}, priority=1),
    kernel("inner", load=loads(inner)), kernel("two", 2, priority=-1)]

def outer(x, y, *, n, mode, flag):
    return torch.ops.kernel_tests.put(x, mode="b") + 10

def inner(x, y, *, n, mode, flag):
    raise NotImplementedError("not me")

REST = ["""
    table = live(site, source)
    assert put(X)[0] == 12
    assert [(count.kernel, count.calls, count.passed_on) for count in table.counts()] == [
        ("acme/outer", 1, 0),
        ("acme/inner", 0, 1),
        ("acme/two", 1, 0),
    ]


def test_called_by_its_own_name_a_kernel_raises_what_it_raises(site: Site) -> None:
    (made,) = live(site, "kernel(load=loads(raises(NotImplementedError('not me'))))").all
    with pytest.raises(NotImplementedError, match="not me"):
        made.op(X)


def test_a_hundred_thousand_calls_are_all_the_kernels(site: Site) -> None:
    source = "load=loads(torch.ops.aten.relu.default), reference=torch.relu"
    table = live(site, f"kernel(op='aten::hardswish', {source})")
    for _ in range(100_000):
        torch.ops.aten.hardswish.default(X)
    assert table.counts()[0].calls == 100_000
