"""The numbers of the report: medians, spreads, and ratios within a round. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.records import Run


@dataclass(frozen=True)
class Spread:
    """The median of some values, the least and the greatest of them."""

    median: float
    least: float
    greatest: float


def spread(values: Sequence[float]) -> Spread:
    """Raises ValueError for no values."""
    if not values:
        raise ValueError("no values to summarise")
    return Spread(median(values), min(values), max(values))


def values(runs: Sequence[Run], variant: str, metric: str) -> list[float]:
    """A metric of a variant, by round; empty where the variant has no such metric."""
    mine = sorted((run for run in runs if run.variant == variant), key=lambda run: run.round)
    return [run.values[metric] for run in mine if metric in run.values]


def ratios(runs: Sequence[Run], variant: str, baseline: str, metric: str) -> list[float]:
    """Per round: the variant's value by the baseline's. A slow minute of the machine then hits both, not the ratio."""
    numerators, denominators = values(runs, variant, metric), values(runs, baseline, metric)
    return [a / b for a, b in zip(numerators, denominators, strict=True)]


def identical(runs: Sequence[Run], variant: str, baseline: str) -> list[int]:
    """Per round: how many of the prompts got the same output from the variant as from the baseline."""
    theirs = {run.round: run.outputs for run in runs if run.variant == baseline}
    mine = sorted((run for run in runs if run.variant == variant), key=lambda run: run.round)
    return [sum(a == b for a, b in zip(run.outputs, theirs[run.round], strict=True)) for run in mine]
