"""Slicing instead of padding: the cheapest buckets for a length, exactly."""

from __future__ import annotations

import functools
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelplug.buckets import AffineCost, Ladder, MeasuredCost, Slice, Slicer
from accelplug.buckets.costs import Cost
from accelplug.errors import BadInputError

SIZES = st.sets(st.integers(1, 20), min_size=1, max_size=5).map(lambda sizes: tuple(sorted(sizes)))
COSTS = st.one_of(
    st.builds(lambda launch, each: AffineCost(launch=launch, per_token=each), st.integers(0, 40), st.integers(1, 5)),
    st.lists(st.integers(1, 60), min_size=20, max_size=20).map(  # measured: neither growing nor smooth
        lambda prices: MeasuredCost(seconds={size + 1: float(price) for size, price in enumerate(prices)})
    ),
)


def cheapest(sizes: tuple[int, ...], cost: Cost, length: int) -> tuple[float, int, int]:
    """By trying all: the least cost, then the fewest slices, then the least padding."""

    @functools.cache
    def best(left: int) -> tuple[float, int, int]:
        if left <= 0:
            return (0.0, 0, -left)
        tried = ((size, best(left - size)) for size in sizes)
        return min((rest[0] + cost(size), rest[1] + 1, rest[2]) for size, rest in tried)

    return best(length)


@given(SIZES, COSTS, st.integers(1, 70))
@settings(max_examples=300)
def test_no_other_buckets_are_cheaper(sizes: tuple[int, ...], cost: Cost, length: int) -> None:
    slices = Slicer(Ladder(sizes), cost).slices(length)
    found = (sum(cost(each.bucket) for each in slices), len(slices), sum(each.bucket for each in slices) - length)
    assert found == cheapest(sizes, cost, length)


@given(SIZES, COSTS, st.integers(1, 70))
def test_slices_follow_each_other_and_only_the_last_has_padding(
    sizes: tuple[int, ...], cost: Cost, length: int
) -> None:
    slices = Slicer(Ladder(sizes), cost).slices(length)
    assert [each.start for each in slices] == [sum(s.length for s in slices[:n]) for n in range(len(slices))]
    assert sum(each.length for each in slices) == length
    assert all(each.length == each.bucket for each in slices[:-1])
    assert 0 < slices[-1].length <= slices[-1].bucket
    assert [each.bucket for each in slices] == sorted((each.bucket for each in slices), reverse=True)


def test_a_prefill_of_1300_is_not_padded_to_2048() -> None:
    assert Slicer(Ladder.powers_of_two(512, 2048)).slices(1300) == (Slice(0, 1024, 1024), Slice(1024, 276, 512))


def test_it_is_padded_where_a_launch_costs_more_than_the_padding() -> None:
    slicer = Slicer(Ladder.powers_of_two(512, 2048), AffineCost(launch=600))
    assert slicer.slices(1300) == (Slice(0, 1300, 2048),)


def test_a_length_above_the_largest_bucket_is_sliced() -> None:
    """Case C24."""
    assert Slicer(Ladder((16, 64))).slices(130)[-1] == Slice(128, 2, 16)


def test_a_tie_goes_to_fewer_slices() -> None:
    slicer = Slicer(Ladder((10, 20)), AffineCost(launch=0))
    assert slicer.slices(20) == (Slice(0, 20, 20),)


@given(SIZES, COSTS)
def test_what_must_be_compiled_is_what_some_length_is_sliced_into(sizes: tuple[int, ...], cost: Cost) -> None:
    slicer = Slicer(Ladder(sizes), cost)
    into = {each.bucket for length in range(1, 41) for each in slicer.slices(length)}
    assert slicer.used(40) == tuple(sorted(into))


def test_a_bucket_that_never_pays_need_not_be_compiled() -> None:
    slow = MeasuredCost(seconds={16: 1.0, 32: 1.1, 64: 5.0})
    assert Slicer(Ladder((16, 32, 64)), slow).used(4096) == (16, 32)


def test_lengths_are_counted_in_the_unit_of_the_ladder_so_that_long_ones_are_cheap() -> None:
    slicer = Slicer(Ladder.powers_of_two(64, 8192))
    slicer.slices(1_000_000)
    assert len(slicer._table) == 1_000_000 // 64 + 1


@pytest.mark.usefixtures("restless_threads")
def test_threads_share_a_slicer() -> None:
    slicer, alone = Slicer(Ladder((3, 7, 16))), Slicer(Ladder((3, 7, 16)))
    lengths = range(8000, 0, -97)  # the longest first, so that all of them fill the same table
    expected = [alone.slices(length) for length in lengths]
    found: list[list[tuple[Slice, ...]]] = []
    together = threading.Barrier(4)

    def ask() -> None:
        together.wait()
        found.append([slicer.slices(length) for length in lengths])

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_the_cost_of_a_length_is_that_of_its_slices() -> None:
    slicer = Slicer(Ladder((512, 1024)), AffineCost(launch=10, per_token=2))
    assert slicer.cost(1300) == (10 + 2 * 1024) + (10 + 2 * 512)


@pytest.mark.parametrize("price", [0.0, -1.0, float("nan"), float("inf")])
def test_a_cost_that_is_no_cost_is_said(price: float) -> None:
    with pytest.raises(BadInputError, match="bucket 8 costs"):
        Slicer(Ladder((8,)), lambda bucket: price)


def test_a_cost_is_fitted_to_what_was_measured() -> None:
    fitted = AffineCost.fit({128: 0.030, 256: 0.042, 1024: 0.114})
    assert fitted.per_token * 1e6 == pytest.approx(93.75)
    assert fitted.launch == pytest.approx(0.018)
    with pytest.raises(BadInputError, match="at least two"):
        AffineCost.fit({128: 0.03})
    with pytest.raises(BadInputError, match="costs no more"):
        AffineCost.fit({128: 0.03, 256: 0.02})


def test_a_bucket_that_was_not_measured_is_said() -> None:
    with pytest.raises(BadInputError, match=r"no cost was measured for bucket 64; measured: \[32\]"):
        Slicer(Ladder((32, 64)), MeasuredCost(seconds={32: 0.1}))


def test_nothing_cannot_be_sliced() -> None:
    with pytest.raises(BadInputError, match="a length of 0"):
        Slicer(Ladder((8,))).slices(0)
