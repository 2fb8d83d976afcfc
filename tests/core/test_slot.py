"""PyTorch has one place for an out-of-tree device: activation takes it whole, or leaves everything as it was."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from backend_site import HEAD, Site
from processes import Run

BACKEND = (
    HEAD
    + """
import os, types
def probe(host):
    return Probe(verdict="usable", reason="there", count=1)

def load():
    import torch
    {load}

@hookimpl
def accelplug_device():
    return DeviceSpec(name="acme", title="", torch_type="acme", priority=900, probe=probe, load=load)
"""
)

ASK = """
import accelplug, os, sys
{before}
try:
    print(accelplug.auto())
except accelplug.AccelplugError as error:
    print(type(error).__name__, error)
"""

REGISTER = "torch.utils.rename_privateuse1_backend({name!r}); "
MODULE = (
    "torch._register_device_module({name!r}, types.SimpleNamespace(is_available=lambda: True, device_count=lambda: 1))"
)


@pytest.fixture
def ask(site: Site, python: Run) -> Callable[..., list[str]]:
    """What a process says that asks for the device ``acme``, whose ``load`` is given."""

    def run(load: str, before: str = "", after: str = "") -> list[str]:
        site.module("acme", BACKEND.format(load=load))
        done = python(ASK.format(before=before) + after, PYTHONPATH=str(site.folder))
        assert done.returncode == 0, done.stderr
        return (done.stdout + done.stderr).splitlines()

    return run


def test_a_device_that_its_sdk_registers_whole_is_live(ask: Callable[..., list[str]]) -> None:
    assert ask(REGISTER.format(name="acme") + MODULE.format(name="acme")) == ["acme"]


def test_c9_a_name_registered_without_its_module_is_an_error_that_says_so(ask: Callable[..., list[str]]) -> None:
    (said,) = ask(REGISTER.format(name="acme"))
    assert said.startswith("ActivationError acme: its SDK registered 'acme', but torch.accelerator.is_available()")
    assert "no torch.acme module?" in said


def test_an_sdk_that_registers_nothing_is_an_error(ask: Callable[..., list[str]]) -> None:
    assert "PyTorch knows no device 'acme'; nothing was registered" in ask("pass")[0]


def test_an_sdk_that_registers_another_name_is_an_error(ask: Callable[..., list[str]]) -> None:
    (said,) = ask(REGISTER.format(name="other"))
    assert "PyTorch knows no device 'acme'; 'other' has the place" in said


def test_c10_a_place_that_is_taken_is_refused_before_the_sdk_is_loaded(ask: Callable[..., list[str]]) -> None:
    (said,) = ask("print('loaded')", before="import torch; torch.utils.rename_privateuse1_backend('other')")
    assert said.startswith("ActivationError acme can't be made live in this process: 'other' has PyTorch's one place")
    assert "code that gave it no module" in said
    assert "use acme in a new process" in said


def test_a_device_that_other_code_registered_is_used_and_said(ask: Callable[..., list[str]]) -> None:
    register = REGISTER.format(name="acme") + MODULE.format(name="acme")
    live, said = ask("pass", before=f"import torch, types; {register}")
    assert live == "acme"
    assert "acme was registered with PyTorch before, by types" in said


def test_a_load_that_fails_leaves_the_environment_as_it_was(ask: Callable[..., list[str]]) -> None:
    load = "os.environ.update(ACME_NEW='1', ACME_OLD='changed'); del os.environ['ACME_GONE']; raise OSError('no card')"
    said, environ = ask(
        load,
        before="os.environ.update(ACME_OLD='old', ACME_GONE='back')",
        after="import json; print(json.dumps({n: v for n, v in os.environ.items() if n.startswith('ACME_')}))",
    )
    assert said == "ActivationError acme could not be made live: OSError: no card"
    assert json.loads(environ) == {"ACME_OLD": "old", "ACME_GONE": "back"}
