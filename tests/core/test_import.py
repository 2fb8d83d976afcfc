"""`import accelplug` and looking for devices are light: what is not needed is not imported, nothing is changed."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

import pytest
from processes import Run

import accelplug

SDKS = ("torch", "torch_neuronx", "libneuronxla", "nki", "neuronxcc", "torch_spyre", "torch_sendnn", "pynvml", "vllm")


def imported(python: Run, code: str) -> set[str]:
    """The top-level packages in ``sys.modules`` after ``code``."""
    done = python(f"import sys\n{code}\nprint(*sys.modules, sep='\\n')")
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_accelplug_imports_neither_torch_nor_pydantic(python: Run) -> None:
    assert imported(python, "import accelplug").isdisjoint({"torch", "pydantic", "pydantic_settings", "pluggy"})


def test_probing_all_backends_imports_no_torch_and_no_sdk(python: Run) -> None:
    assert imported(python, "import accelplug; accelplug.explain()").isdisjoint(SDKS)


def test_every_public_name_is_there_and_listed() -> None:
    for name in accelplug.__all__:
        assert getattr(accelplug, name) is not None
    assert set(dir(accelplug)) == {*accelplug.__all__, "__version__"}


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'accelplug' has no attribute 'devcies'"):
        accelplug.devcies  # noqa: B018


@pytest.mark.parametrize("look", [accelplug.devices, accelplug.explain])
def test_looking_changes_nothing_in_the_process(look: Callable[[], object]) -> None:
    before = state()

    look()

    assert state() == before


def state() -> tuple[object, ...]:
    """What a look could change: environment, threads, open files, working directory, and whether torch is imported."""
    return dict(os.environ), {*threading.enumerate()}, os.listdir("/dev/fd"), os.getcwd(), "torch" in sys.modules


def test_explain_of_one_device_is_about_that_device() -> None:
    assert [candidate.name for candidate in accelplug.explain("cpu").candidates] == ["cpu"]
    assert len(accelplug.explain().candidates) == len(accelplug.devices().candidates)
