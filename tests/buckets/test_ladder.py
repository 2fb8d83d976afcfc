"""Ladders: how they are made, which bucket is chosen, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelplug.buckets import Ladder
from accelplug.errors import BadInputError, CompileRefusedError, ShapeRefusedError

LADDERS = st.sets(st.integers(1, 500), min_size=1, max_size=12).map(lambda sizes: Ladder(tuple(sorted(sizes))))


@pytest.mark.parametrize(
    ("ladder", "sizes"),
    [
        (Ladder.powers_of_two(16, 128), (16, 32, 64, 128)),
        (Ladder.powers_of_two(16, 100), (16, 32, 64, 100)),
        (Ladder.powers_of_two(96, 384), (96, 192, 384)),
        (Ladder.powers_of_two(7, 7), (7,)),
        (Ladder.linear(64, 256, 64), (64, 128, 192, 256)),
        (Ladder.linear(64, 200, 64), (64, 128, 192, 200)),
        (Ladder.geometric(16, 1024, 4), (16, 64, 256, 1024)),
        (Ladder.geometric(1, 4, 20), (1, 2, 3, 4)),
    ],
)
def test_a_ladder_ends_where_it_is_told_to(ladder: Ladder, sizes: tuple[int, ...]) -> None:
    assert ladder.sizes == sizes


@given(LADDERS, st.integers(1, 500))
def test_the_smallest_bucket_that_holds_a_length_is_chosen(ladder: Ladder, length: int) -> None:
    fits = [size for size in ladder.sizes if size >= length]
    if fits:
        assert ladder.choose(length) == min(fits)
    else:
        with pytest.raises(ShapeRefusedError):
            ladder.choose(length)


@given(LADDERS)
def test_every_length_lands_in_just_one_bucket(ladder: Ladder) -> None:
    landed = [length for size in ladder.sizes for length in ladder.lengths(size)]
    assert landed == [*range(1, ladder.largest + 1)]
    assert all(ladder.choose(length) == size for size in ladder.sizes for length in ladder.lengths(size))


def test_a_length_above_the_largest_bucket_is_refused_with_the_limit() -> None:
    """Case C24."""
    said = r"prompt 2049 is above the largest bucket, 2048; buckets: 512,2048"
    with pytest.raises(CompileRefusedError, match=said):
        Ladder((512, 2048)).choose(2049, "prompt")


def test_nothing_is_no_length() -> None:
    with pytest.raises(BadInputError, match="a length of 0"):
        Ladder((8,)).choose(0)


def test_alignment_rounds_up_and_leaves_each_size_once() -> None:
    assert Ladder((1, 16, 64, 100)).aligned(64).sizes == (64, 128)


def test_a_ladder_is_cut_at_the_longest_length_which_becomes_its_last_bucket() -> None:
    assert Ladder((128, 512, 2048)).up_to(1500).sizes == (128, 512, 1500)
    assert Ladder((128, 512)).up_to(1500).sizes == (128, 512)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ((), "has no buckets"),
        ((0, 8), "0 is no bucket size"),
        ((True,), "True is no bucket size"),
        ((8.0,), "8.0 is no bucket size"),
        ((16, 8), "ascending order"),
        ((8, 8), "each once"),
    ],
)
def test_what_is_no_ladder_is_said(sizes: tuple[int, ...], said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        Ladder(sizes)


def test_ends_and_steps_are_checked() -> None:
    with pytest.raises(BadInputError, match="from 64 to 16"):
        Ladder.powers_of_two(64, 16)
    with pytest.raises(BadInputError, match="steps of 0"):
        Ladder.linear(1, 9, 0)
    with pytest.raises(BadInputError, match="at least 2"):
        Ladder.geometric(1, 9, 1)
