"""``torch.compile`` without a backend: what a live device changes, and what it leaves alone. Case C13.

The device's side, on real graphs, is in tests/sim/compiled_kinds.py.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from accelplug import default_backend
from accelplug.errors import CompileRefusedError

WRAPPER = torch._TorchCompileInductorWrapper
STOCK = WRAPPER.__call__


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, fresh_dynamo: None) -> None:
    """As if a device of type ``meta`` had been made live, and undone."""
    monkeypatch.setattr(default_backend, "_served", set())
    monkeypatch.setattr(WRAPPER, "__call__", STOCK)
    default_backend.serve("meta")


def test_a_graph_on_another_device_takes_torchs_own_way(served: None, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Any] = []
    monkeypatch.setattr("torch._inductor.compile_fx.compile_fx", lambda *given, **named: taken.append(named))
    graph = torch.fx.symbolic_trace(lambda x: (x + 1,))
    WRAPPER("max-autotune", None, None)(graph, [torch.ones(3)])
    STOCK(WRAPPER("max-autotune", None, None), graph, [torch.ones(3)])
    assert taken[0] == taken[1]


def test_a_device_that_nothing_compiles_for_is_refused_with_a_backend_to_use(served: None) -> None:
    graph = torch.fx.symbolic_trace(lambda x: (x + 1,))
    with pytest.raises(CompileRefusedError, match=r'nothing compiles for meta: .*backend="aot_eager"'):
        WRAPPER(None, None, None)(graph, [torch.ones(3, device="meta")])


def test_serving_again_changes_nothing(served: None) -> None:
    before = WRAPPER.__call__
    default_backend.serve("meta")
    assert WRAPPER.__call__ is before
