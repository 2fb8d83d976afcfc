"""What a suite is: variants that are measured in turn, the metrics it gets of each, and what must come out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from benchmarks.records import Run

Measure = Callable[[str, int], Run]
"""Measures a variant in a round, in fresh processes."""


class BenchmarkError(Exception):
    """A suite can't be run, or a run of it failed; the text says what to do, or ends with the end of the log."""


@dataclass(frozen=True)
class Metric:
    """A column of the suite's table; ``key`` names it in ``Run.values``. ``digits`` after the point are shown."""

    key: str
    title: str
    digits: int


@dataclass(frozen=True)
class Promise:
    """What the median of a metric, or of its ratio to a baseline's, must be at least or at most."""

    text: str
    metric: str
    variant: str
    baseline: str | None = None
    at_least: float | None = None
    at_most: float | None = None

    def kept(self, measured: float) -> bool:
        return (self.at_least is None or measured >= self.at_least) and (
            self.at_most is None or measured <= self.at_most
        )


@dataclass(frozen=True)
class Workload:
    """A suite made ready: how to measure, and the versions of what is measured."""

    measure: Measure
    versions: dict[str, str]


@dataclass(frozen=True)
class Suite:
    """``comparisons`` are (variant, baseline) pairs, shown as ratios. ``prepare`` makes the suite ready for one use;
    it is told whether to keep it quick. ``same_outputs`` promises that all variants give the first one's tokens.
    """

    name: str
    title: str
    about: str
    variants: tuple[str, ...]
    metrics: tuple[Metric, ...]
    comparisons: tuple[tuple[str, str], ...]
    prepare: Callable[[bool], AbstractContextManager[Workload]]
    promises: tuple[Promise, ...] = ()
    same_outputs: bool = field(default=False)


def in_turn(variants: tuple[str, ...], rounds: int) -> Iterator[tuple[int, str]]:
    """A B, B A, A B …: each round has every variant once, and none always goes first."""
    for number in range(rounds):
        for variant in variants if number % 2 == 0 else reversed(variants):
            yield number, variant
