"""What other versions of vLLM call otherwise."""

from __future__ import annotations

import sys
import types

import pytest
from accelplug_vllm.compat import moved


def kernel() -> None:
    """Stands for one of vLLM's."""


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    made = types.ModuleType("made_up_kernels")
    made.kernel = kernel  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


def test_without_a_dispatcher_a_kernel_is_put_where_it_is_called(
    module: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, moved.DISPATCHER, None)  # as where there is no such module
    moved.register_kernels({"made_up_kernels.kernel": print})
    assert module.kernel is print


def test_without_a_dispatcher_what_launches_the_kernel_gets_it_too(
    module: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, moved.DISPATCHER, None)
    module.launch, module.other = types.SimpleNamespace(kernel=kernel), types.SimpleNamespace(kernel=max)  # type: ignore[attr-defined]
    moved.register_kernels({"made_up_kernels.kernel": print})
    assert (module.launch.kernel, module.other.kernel) == (print, max)


def test_a_dispatcher_that_is_broken_is_an_error(module: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> types.ModuleType:
        raise ModuleNotFoundError("No module named 'something_else'", name="something_else")

    monkeypatch.setattr(moved, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="something_else"):
        moved.register_kernels({"made_up_kernels.kernel": print})
    assert module.kernel is kernel
