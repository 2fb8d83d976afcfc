"""The padding benchmark: its lengths are those published, its numbers can be recomputed, and its promises are kept."""

from __future__ import annotations

import statistics

import pytest

from accelplug.buckets import AffineCost, Ladder
from benchmarks.lengths import CHAT, FIRST_TURNS, LONGEST, Histogram, poisson
from benchmarks.records import Machine, Result
from benchmarks.report import measured_for
from benchmarks.suites.padding import SUITE, VARIANTS, best, measure, padded, sliced

COST = AffineCost()


def flat(lengths: Histogram) -> list[int]:
    return sorted(length for length, often in lengths.items() for _ in range(round(often)))


def test_drawn_lengths_have_the_published_median_and_90th_percentile() -> None:
    lengths = flat(CHAT.drawn(20_000, seed=0))
    assert lengths[10_000] == pytest.approx(1730, rel=0.03)
    assert lengths[18_000] == pytest.approx(5696, rel=0.05)
    assert max(lengths) == LONGEST


def test_drawn_lengths_have_the_published_mean() -> None:
    assert statistics.mean(flat(FIRST_TURNS.drawn(20_000, seed=0))) == pytest.approx(161.31, rel=0.03)


def test_the_same_seed_draws_the_same_lengths() -> None:
    assert CHAT.drawn(100, seed=3) == CHAT.drawn(100, seed=3) != CHAT.drawn(100, seed=4)


def test_the_number_of_running_sequences_has_its_mean() -> None:
    steps = poisson(24.0, 200)
    assert sum(steps.values()) == pytest.approx(1.0)
    assert sum(n * often for n, often in steps.items()) == pytest.approx(24.0)


def test_padding_fills_the_largest_bucket_first() -> None:
    served = padded(Ladder((16, 64)), COST, {130: 2.0, 64: 1.0})
    assert (served.padding, served.real, served.slices) == (2 * (2 * 64 + 16 - 130), 324, 7)


def test_slicing_costs_no_more_than_padding() -> None:
    ladder, lengths = Ladder.powers_of_two(16, 512), dict.fromkeys(range(1, 1500, 7), 1.0)
    assert sliced(ladder, COST, lengths).cost <= padded(ladder, COST, lengths).cost


def test_the_best_ladder_counts_the_rests_of_long_prompts() -> None:
    assert best({100: 1.0, 612: 1.0, 512: 1.0}, 2, 512).sizes == (100, 512)


def test_every_promise_is_kept_with_few_prompts_too() -> None:
    runs = tuple(measure(variant, 0, prompts=2000) for variant in VARIANTS)
    machine = Machine(cpu="Abacus 9", cores=4, memory_gib=8.0, system="Linux 6.1", load=0.05)
    result = Result(finished="2026-01-02", rounds=1, machine=machine, versions={}, runs=runs)
    for promise in SUITE.promises:
        assert promise.kept(measured_for(promise, result)[0]), promise
