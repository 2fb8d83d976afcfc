"""The ladder that wastes least for given lengths."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelplug.buckets import AffineCost, Ladder, MeasuredCost, optimal_ladder, padding
from accelplug.buckets.costs import Cost
from accelplug.errors import BadInputError

LENGTHS = st.dictionaries(st.integers(1, 24), st.integers(1, 9), min_size=1, max_size=8)
COSTS = st.one_of(
    st.builds(lambda launch: AffineCost(launch=launch), st.integers(0, 20)),
    st.lists(st.integers(1, 40), min_size=24, max_size=24).map(
        lambda prices: MeasuredCost(seconds={n + 1: float(price) for n, price in enumerate(sorted(prices))})
    ),
)


def expected(ladder: Ladder, lengths: dict[int, int], cost: Cost) -> float:
    return sum(often * cost(ladder.choose(length)) for length, often in lengths.items())


@given(LENGTHS, st.integers(1, 5), COSTS)
@settings(max_examples=200)
def test_no_other_ladder_is_cheaper(lengths: dict[int, int], count: int, cost: Cost) -> None:
    found = optimal_ladder(lengths, count, cost=cost)
    assert len(found.sizes) <= count
    below = [length for length in lengths if length < max(lengths)]
    others = (
        Ladder((*sorted(chosen), max(lengths)))
        for n in range(min(count, len(lengths)))
        for chosen in itertools.combinations(below, n)
    )
    assert expected(found, lengths, cost) == min(expected(ladder, lengths, cost) for ladder in others)


@given(LENGTHS, st.integers(1, 5))
def test_more_buckets_never_waste_more(lengths: dict[int, int], count: int) -> None:
    fewer, more = (optimal_ladder(lengths, n) for n in (count, count + 1))
    assert padding(more, lengths) <= padding(fewer, lengths)


def test_sizes_are_multiples_and_the_largest_is_held_though_nothing_is_that_long() -> None:
    ladder = optimal_ladder({10: 5, 70: 1, 130: 9}, 3, multiple=64, largest=500)
    assert ladder.sizes == (64, 192, 512)


def test_with_a_bucket_for_each_length_nothing_is_wasted() -> None:
    lengths = {3: 1, 5: 2, 8: 1}
    assert padding(optimal_ladder(lengths, 9), lengths) == 0


def test_it_says_what_it_cannot_do() -> None:
    with pytest.raises(BadInputError, match="no lengths"):
        optimal_ladder({}, 3)
    with pytest.raises(BadInputError, match="above the largest bucket, 8"):
        optimal_ladder({9: 1}, 3, largest=8)
    with pytest.raises(BadInputError, match="length 0 comes 1 times"):
        optimal_ladder({0: 1}, 3)
    with pytest.raises(BadInputError, match="a ladder of 0 buckets"):
        optimal_ladder({1: 1}, 0)
    with pytest.raises(BadInputError, match="must not cost less"):
        optimal_ladder({1: 1, 2: 1}, 2, cost=MeasuredCost(seconds={1: 2.0, 2: 1.0}))
