"""Buckets over two dimensions: tokens × sequences."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelplug.buckets import Grid, Ladder
from accelplug.errors import BadInputError, ShapeRefusedError

SHAPES = st.frozensets(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=12)


def no_more_sequences_than_tokens(tokens: range, seqs: range) -> bool:
    return seqs.start < tokens.stop


@given(SHAPES, st.integers(1, 30), st.integers(1, 30))
def test_the_cheapest_shape_that_holds_the_request_is_chosen(
    shapes: frozenset[tuple[int, int]], tokens: int, seqs: int
) -> None:
    grid = Grid(("tokens", "seqs"), shapes, cost=lambda tokens, seqs: tokens + 3 * seqs)
    fits = [shape for shape in shapes if shape[0] >= tokens and shape[1] >= seqs]
    if not fits:
        with pytest.raises(ShapeRefusedError):
            grid.choose(tokens=tokens, seqs=seqs)
        return
    chosen = grid.choose(tokens=tokens, seqs=seqs)
    assert chosen in fits
    assert chosen[0] + 3 * chosen[1] == min(shape[0] + 3 * shape[1] for shape in fits)


@given(
    st.sets(st.integers(1, 24), min_size=1, max_size=5).map(sorted),
    st.sets(st.integers(1, 24), min_size=1, max_size=5).map(sorted),
)
def test_a_product_has_just_the_shapes_that_can_occur(tokens: list[int], seqs: list[int]) -> None:
    ladders = {"tokens": Ladder(tuple(tokens)), "seqs": Ladder(tuple(seqs))}
    occur = {
        (ladders["tokens"].choose(t), ladders["seqs"].choose(s))
        for t, s in itertools.product(range(1, tokens[-1] + 1), range(1, seqs[-1] + 1))
        if s <= t
    }
    assert set(Grid.product(ladders, no_more_sequences_than_tokens).shapes) == occur


def test_a_request_above_all_shapes_is_refused_with_the_limits() -> None:
    grid = Grid.product({"tokens": Ladder((8, 64)), "seqs": Ladder((1, 4))})
    with pytest.raises(
        ShapeRefusedError, match="no bucket holds tokens 9, seqs 5; the largest sizes are: tokens 64, seqs 4"
    ):
        grid.choose(tokens=9, seqs=5)


def test_a_grid_says_what_is_wrong_with_it_or_with_a_request() -> None:
    with pytest.raises(BadInputError, match="has no shapes"):
        Grid(("tokens",), frozenset())
    with pytest.raises(BadInputError, match=r"shape \(8,\) has no size from 1 for each of tokens, seqs"):
        Grid(("tokens", "seqs"), frozenset({(8,)}))
    grid = Grid(("tokens", "seqs"), frozenset({(8, 8)}))
    with pytest.raises(BadInputError, match="give them for tokens, seqs"):
        grid.choose(tokens=8)
    with pytest.raises(BadInputError, match="nothing to put into a bucket"):
        grid.choose(tokens=8, seqs=0)
