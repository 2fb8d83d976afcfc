"""``accelplug.kernels(...)``: which kernels may run, in a block, a function, a module; and ACCELPLUG_KERNELS."""

from __future__ import annotations

import copy
import logging
import threading

import pytest
import torch
from backend_site import Site
from kernel_backend import OP, install, live, put

import accelplug
from accelplug.tables import scope

X = torch.zeros(4)
TWO = "kernel('one', 1), kernel('two', 2, provider='other', level='isa')"
SICK = """
from accelplug.hookspecs import hookimpl

@hookimpl
def accelplug_kernels():
    1 / 0
"""


def test_a_provider_or_a_kernel_can_be_switched_off(site: Site) -> None:
    live(site, TWO)
    with accelplug.kernels(disable="acme"):
        assert put(X)[0] == 2
        with accelplug.kernels(disable=["other/two"]):
            assert put(X)[0] == 0
        assert put(X)[0] == 2
    assert put(X)[0] == 1


@pytest.mark.parametrize(
    ("given", "runs"),
    [
        ({"only": "other"}, 2),
        ({"only": ()}, 0),
        ({"only": ["other/two", "acme"]}, 1),
        ({"level": "isa"}, 2),
        ({"level": ["tile", "isa"]}, 1),
        ({"level": "compiler"}, 0),
        ({"order": ["other"]}, 2),
    ],
)
def test_what_a_scope_can_say(site: Site, given: dict[str, object], runs: int) -> None:
    live(site, TWO)
    with accelplug.kernels(**given):
        assert put(X)[0] == runs


def test_a_kernel_that_has_run_nowhere_waits_to_be_asked_for(site: Site) -> None:
    live(site, 'kernel(ran_on="nothing")')
    assert put(X)[0] == 0
    with accelplug.kernels(only="acme"):
        assert put(X)[0] == 1
    (outcome,) = accelplug.explain_op(OP, [(1,)], device="acme").kernels
    assert outcome.outcome == "off"
    assert "ACCELPLUG_KERNELS=acme" in outcome.reason


def test_inside_another_scope_only_the_order_can_be_given_back(site: Site) -> None:
    live(site, TWO)
    with accelplug.kernels(only="acme", order="other"), accelplug.kernels(order="acme"):
        assert put(X)[0] == 1
        with accelplug.kernels(only="other"):
            assert put(X)[0] == 0


def test_a_scope_can_decorate_a_function_and_be_used_again(site: Site) -> None:
    live(site, TWO)
    without = accelplug.kernels(disable="acme")

    @without
    def inner(depth: int) -> float:
        return inner(depth - 1) if depth else put(X)[0].item()

    assert [inner(3), put(X)[0].item(), inner(0)] == [2, 1, 2]


def test_a_scope_can_be_put_on_a_module(site: Site) -> None:
    live(site, TWO)

    class Put(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if x.numel() > 4:
                raise ValueError("too large")
            return put(x)

    without = accelplug.kernels(disable="acme").apply(Put())
    model = torch.nn.Sequential(without, Put())
    assert model(X)[0] == 3
    with pytest.raises(ValueError, match="too large"):
        without(torch.zeros(5))
    assert put(X)[0] == 1
    assert copy.deepcopy(model)(X)[0] == 3


def test_an_exception_ends_a_scope(site: Site) -> None:
    live(site, TWO)
    with pytest.raises(ValueError, match="mine"), accelplug.kernels(disable="acme"):
        raise ValueError("mine")
    assert put(X)[0] == 1


def test_a_scope_holds_in_its_thread_only(site: Site) -> None:
    live(site, TWO)
    seen = []
    with accelplug.kernels(disable="acme"):
        thread = threading.Thread(target=lambda: seen.append(put(X)[0].item()))
        thread.start()
        thread.join()
    assert seen == [1]


def test_a_profiler_may_begin_inside_a_scope_and_end_outside(site: Site) -> None:
    """Both are kept in the same place of PyTorch's."""
    live(site, TWO)
    with accelplug.kernels(disable="acme"):
        profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
        profiler.start()
        assert put(X)[0] == 2
    assert put(X)[0] == 1
    profiler.stop()
    assert put(X)[0] == 1
    with accelplug.kernels(disable="acme"):
        assert put(X)[0] == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"disable": "acne"}, "disable='acne': there is no such kernel or provider; did you mean 'acme'"),
        ({"only": ["acme/won"]}, "only='acme/won': .*known: acme, acme/one, .*other, other/two"),
        ({"order": "acme/one"}, "order='acme/one'"),
        ({"level": "tiles"}, "level='tiles'.* did you mean 'tile'"),
    ],
)
def test_a_misspelt_name_is_an_error(site: Site, given: dict[str, object], message: str) -> None:
    install(site, TWO)
    with pytest.raises(accelplug.BadInputError, match=message):
        accelplug.kernels(**given)


def test_a_backend_whose_kernels_cannot_be_had_is_said_and_hurts_no_other(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.backend("sick", head=SICK)
    live(site, TWO)
    with accelplug.kernels(disable="acme"):
        assert put(X)[0] == 2
    assert "the kernels of backend sick are unknown: hook accelplug_kernels of backend sick" in caplog.text


def test_equal_scopes_are_one(site: Site) -> None:
    live(site, TWO)
    with accelplug.kernels(disable="acme"):
        before = scope.count()
    for _ in range(3):
        with accelplug.kernels(disable="acme"):
            assert scope.count() == before


@pytest.mark.parametrize(
    ("setting", "runs"), [("off", 0), ("other", 2), ("-acme", 2), ("-acme/one,-other", 0), ("acme,other,-acme/one", 2)]
)
def test_the_setting(site: Site, monkeypatch: pytest.MonkeyPatch, setting: str, runs: int) -> None:
    monkeypatch.setenv("ACCELPLUG_KERNELS", setting)
    live(site, TWO)
    assert put(X)[0] == runs


@pytest.mark.parametrize("setting", ["off,acme", "Acme", "acme/one/two", "--acme"])
def test_a_setting_that_cannot_be_is_an_error(site: Site, monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    monkeypatch.setenv("ACCELPLUG_KERNELS", setting)
    with pytest.raises(accelplug.BadInputError, match="ACCELPLUG_KERNELS: kernels = "):
        live(site, TWO)


def test_a_name_in_the_setting_that_nobody_has_is_said(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ACCELPLUG_KERNELS", "-acne")
    with caplog.at_level(logging.WARNING):
        live(site, TWO)
    assert "ACCELPLUG_KERNELS names 'acne', which no backend brings; did you mean 'acme'?" in caplog.text
