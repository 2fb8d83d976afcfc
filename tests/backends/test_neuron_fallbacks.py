"""What the neuron backend says fell back: the names that torch_neuronx keeps, and no numbers that it doesn't."""

from __future__ import annotations

import sys
import types

import pytest
from accelplug_neuron.fallbacks import source

from accelplug.specs import OpCount


@pytest.fixture
def torch_neuronx(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A module with the three functions that torch-neuronx's public sources have; no more of it is there."""
    module = types.ModuleType("torch_neuronx")
    module.__file__ = "/somewhere/torch_neuronx/__init__.py"
    tracked = {"aten::mm", "aten::cumsum"}
    module.get_executed_ops = lambda: sorted(tracked)  # type: ignore[attr-defined]
    module.get_fallback_ops = lambda: [name for name in tracked if name == "aten::cumsum"]  # type: ignore[attr-defined]
    module.clear_op_tracking = tracked.clear  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch_neuronx", module)
    return module


def test_names_are_reported_and_numbers_are_unknown(torch_neuronx: types.ModuleType) -> None:
    assert source().read() == [OpCount(op="aten::cumsum", native=False), OpCount(op="aten::mm", native=True)]


def test_a_reset_clears_the_tracking_of_the_sdk(torch_neuronx: types.ModuleType) -> None:
    asked = source()
    asked.reset()
    assert asked.read() == []


def test_what_the_sdk_can_not_do_is_not_offered(torch_neuronx: types.ModuleType) -> None:
    asked = source()
    assert (asked.forbid, asked.limit, asked.watch, asked.measure_time, asked.transfers) == (None,) * 5


def test_an_sdk_without_tracking_is_named_with_what_is_missing(torch_neuronx: types.ModuleType) -> None:
    del torch_neuronx.clear_op_tracking
    with pytest.raises(RuntimeError, match=r"has no clear_op_tracking\(\)"):
        source()
