"""Pieces of a model are compiled when they first run, once for each size, and not after warm-up."""

from __future__ import annotations

import logging

import pytest
import torch
from accelplug_vllm.native.graphs import Graphs, Piece
from torch.fx import Graph, GraphModule

from accelplug.buckets import Ladder, Usage
from accelplug.errors import ShapeRefusedError

TOKENS = Ladder((4, 8))


def layer(name: str, operator: str = "relu") -> GraphModule:
    """As vLLM gives a piece: the number of tokens is an input, and weights are too."""
    graph = Graph()
    tokens = graph.placeholder("s0")
    tokens.meta["example_value"] = 7
    x, weight = graph.placeholder(f"x_{name}"), graph.placeholder(f"weight_{name}")
    heads = graph.call_method("view", (graph.call_function(torch.mm, (x, weight)), tokens, 2, 3))
    graph.output((graph.call_function(getattr(torch, operator), (heads,)),))
    return GraphModule(torch.nn.Module(), graph)


def given(tokens: int) -> tuple[int, torch.Tensor, torch.Tensor]:
    rng = torch.Generator().manual_seed(tokens)
    return tokens, torch.randn(tokens, 6, generator=rng), torch.randn(6, 6, generator=rng)


def expected(operator: str, tokens: int, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = getattr(torch, operator)((x @ weight).view(tokens, 2, 3))
    return result


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "inductor"))


def test_each_size_is_compiled_once_for_all_layers_that_are_alike() -> None:
    usage = Usage("model")
    graphs = Graphs(usage)
    first, second, other = Piece(graphs, layer("a")), Piece(graphs, layer("b")), Piece(graphs, layer("c", "sigmoid"))
    for tokens in (8, 4, 8):
        for piece in (first, second):
            (found,) = piece(*given(tokens))
            torch.testing.assert_close(found, expected("relu", *given(tokens)))
    assert usage.snapshot().compiles == 2
    (found,) = other(*given(4))
    torch.testing.assert_close(found, expected("sigmoid", *given(4)))
    assert usage.snapshot().compiles == 3
    assert graphs.seconds.keys() == {4, 8}


def test_after_warm_up_another_size_is_an_error_that_names_those_there_are() -> None:
    graphs = Graphs(Usage("model"))
    piece = Piece(graphs, layer("a"))
    piece(*given(4))
    graphs.warmed_up(TOKENS, "error")
    piece(*given(4))
    with pytest.raises(ShapeRefusedError, match=r"tokens=5 would have to be compiled.*there are tokens: 4,8"):
        piece(*given(5))


def test_after_warm_up_another_size_may_be_compiled_and_is_logged_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    usage = Usage("model")
    graphs = Graphs(usage)
    graphs.warmed_up(TOKENS, "warn")
    with caplog.at_level(logging.WARNING, "vllm.accelplug"):
        Piece(graphs, layer("a"))(*given(5))
    assert usage.snapshot().compiles_in_service == 1
    assert "compiling in service, for tokens=5" in caplog.text


def test_a_piece_that_keeps_constants_shares_nothing() -> None:
    usage = Usage("model")
    graphs = Graphs(usage)

    def with_constant(value: float) -> GraphModule:
        graph = Graph()
        x = graph.placeholder("x")
        graph.output((graph.call_function(torch.mul, (x, graph.get_attr("constant"))),))
        root = torch.nn.Module()
        root.register_buffer("constant", torch.tensor(value))
        return GraphModule(root, graph)

    x = torch.ones(4)
    for value in (2.0, 3.0):
        (found,) = Piece(graphs, with_constant(value))(x)
        assert found.tolist() == [value] * 4
    assert usage.snapshot().compiles == 2
