"""Lengths of prompts as published, drawn anew from stated parameters: the same on every machine."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass
from statistics import NormalDist

Histogram = dict[int, float]
"""How often each length comes."""

P90 = NormalDist().inv_cdf(0.9)  # standard deviations from the median to the 90th percentile


@dataclass(frozen=True)
class Lognormal:
    """Lengths whose logarithm is normal, cut to 1 … ``longest``. ``source`` is where the numbers are published."""

    median: float
    sigma: float
    longest: int
    source: str

    def drawn(self, count: int, seed: int) -> Histogram:
        """The lengths of ``count`` prompts."""
        draw = random.Random(seed)
        lengths = (round(draw.lognormvariate(math.log(self.median), self.sigma)) for _ in range(count))
        return dict(Counter(min(max(1, length), self.longest) for length in lengths))

    def described(self) -> str:
        """The parameters, for the report."""
        return f"median {self.median:.0f}, σ {self.sigma:.3f} ({self.source})"


def from_percentiles(median: float, p90: float, longest: int, source: str) -> Lognormal:
    """The lognormal with this median and 90th percentile."""
    return Lognormal(median, math.log(p90 / median) / P90, longest, source)


def from_mean(mean: float, sigma: float, longest: int, source: str) -> Lognormal:
    """The lognormal with this mean; where only the mean is published, ``sigma`` is an assumption."""
    return Lognormal(mean / math.exp(sigma**2 / 2), sigma, longest, source)


def poisson(mean: float, longest: int) -> Histogram:
    """How often a step has each number of sequences, 1 … ``longest``.

    That of a server with room for all whose requests come at random: Poisson, however long the outputs are (M/G/∞).
    """
    return {n: math.exp(n * math.log(mean) - mean - math.lgamma(n + 1)) for n in range(1, longest + 1)}


LONGEST = 16384
SARATHI = "Sarathi-Serve, OSDI 2024, table 2: median and P90"
CHAT = from_percentiles(1730, 5696, LONGEST, f"{SARATHI} of openchat_sharegpt4 prompts")
SUMMARIES = from_percentiles(7059, 12985, LONGEST, f"{SARATHI} of arxiv_summarization prompts")
FIRST_TURNS = from_mean(
    161.31, 1.0, LONGEST, "PagedAttention, SOSP 2023, figure 11: mean of ShareGPT inputs, 161.31; σ is our assumption"
)
