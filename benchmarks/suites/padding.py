"""How much padding the buckets take, and what they cost, beside padding to powers of two. Computed, not timed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from accelplug.buckets import AffineCost, Ladder, Slicer, optimal_ladder
from benchmarks.lengths import CHAT, FIRST_TURNS, SUMMARIES, Histogram, Lognormal, poisson
from benchmarks.machine import versions
from benchmarks.records import Run
from benchmarks.suite import Metric, Promise, Suite, Workload

PROMPTS = 20_000
LARGEST = 8192  # the largest prefill bucket: max_num_batched_tokens
SEQUENCES = 64  # the largest decode bucket: max_num_seqs
RUNNING = 24.0  # sequences in a decode step, on average
DISTRIBUTIONS = {"chat": CHAT, "first": FIRST_TURNS, "summaries": SUMMARIES}
COST = AffineCost()
HEAVY = AffineCost(launch=256.0)


@dataclass(frozen=True)
class Served:
    """What a number of prompts took: tokens of padding and real ones, slices, and cost."""

    padding: float = 0.0
    real: float = 0.0
    slices: float = 0.0
    cost: float = 0.0
    prompts: float = 0.0


def padded(ladder: Ladder, cost: AffineCost, lengths: Histogram) -> Served:
    """Each prompt in the largest bucket as often as that is full, its rest padded to one bucket."""
    served = Served()
    for length, often in lengths.items():
        full, rest = divmod(length - 1, ladder.largest)
        buckets = [ladder.largest] * full + [ladder.choose(rest + 1)]
        served = _and(served, buckets, length, often, cost)
    return served


def sliced(ladder: Ladder, cost: AffineCost, lengths: Histogram) -> Served:
    """Each prompt in its cheapest slices."""
    slicer, served = Slicer(ladder, cost), Served()
    for length, often in lengths.items():
        served = _and(served, [each.bucket for each in slicer.slices(length)], length, often, cost)
    return served


def _and(served: Served, buckets: list[int], length: int, often: float, cost: AffineCost) -> Served:
    return Served(
        padding=served.padding + often * (sum(buckets) - length),
        real=served.real + often * length,
        slices=served.slices + often * len(buckets),
        cost=served.cost + often * sum(map(cost, buckets)),
        prompts=served.prompts + often,
    )


POWERS = Ladder.powers_of_two(16, LARGEST)
DENSE = Ladder.geometric(16, LARGEST, 2 * len(POWERS.sizes) - 1)  # one more bucket between each two
DECODE = Ladder.powers_of_two(1, SEQUENCES)
Serve = Callable[[Ladder, AffineCost, Histogram], Served]

POW2 = "padded to powers of two"
SLICED = "powers of two, sliced (the default)"
POW2_HEAVY = "padded to powers of two, a launch costs 256 tokens"
SLICED_HEAVY = "powers of two, sliced, a launch costs 256 tokens"
DENSE_HEAVY = "twice as many buckets, sliced, a launch costs 256 tokens"
BEST = "best ladder, padded"
BEST_SLICED = "best ladder, sliced"
VARIANTS: dict[str, tuple[Serve, AffineCost, Ladder | None]] = {  # how, at which cost, where; None: the best ladder
    POW2: (padded, COST, POWERS),
    SLICED: (sliced, COST, POWERS),
    BEST: (padded, COST, None),
    BEST_SLICED: (sliced, COST, None),
    POW2_HEAVY: (padded, HEAVY, POWERS),
    SLICED_HEAVY: (sliced, HEAVY, POWERS),
    DENSE_HEAVY: (sliced, HEAVY, DENSE),
}


def measure(variant: str, number: int, prompts: int = PROMPTS) -> Run:
    """One round: prompts drawn with the round's number as the seed."""
    serve, cost, given = VARIANTS[variant]
    values = {}
    for key, lengths in ((key, each.drawn(prompts, seed=number)) for key, each in DISTRIBUTIONS.items()):
        ladder = given or best(lengths, len(POWERS.sizes), LARGEST)
        served = serve(ladder, cost, lengths)
        values[f"{key}_padding"] = served.padding / served.real * 100
        values[f"{key}_slices"] = served.slices / served.prompts
        values[f"{key}_cost"] = served.cost / served.real
    steps = poisson(RUNNING, SEQUENCES)
    ladder = DECODE if given else best(steps, len(DECODE.sizes), SEQUENCES)
    served = padded(ladder, cost, steps)  # the sequences of a step run together: they are padded in every variant
    return Run(variant=variant, round=number, values=values | {"decode_padding": served.padding / served.real * 100})


def best(lengths: Histogram, count: int, largest: int) -> Ladder:
    """The ladder of as many buckets for these lengths; those above ``largest`` fill it, and their rests count."""
    rests: Histogram = {}
    for length, often in lengths.items():
        rest = (length - 1) % largest + 1
        rests[rest] = rests.get(rest, 0.0) + often
    return optimal_ladder(rests, count, largest=largest)


@contextlib.contextmanager
def prepare(quick: bool) -> Iterator[Workload]:
    prompts = 2000 if quick else PROMPTS
    yield Workload(lambda variant, number: measure(variant, number, prompts), versions(("accelplug",)))


def _about(distributions: dict[str, Lognormal]) -> str:
    drawn = "; ".join(f"*{key}*: {each.described()}" for key, each in distributions.items())
    return (
        f"Computed, not timed: the same on every machine. {PROMPTS} prompts a round with lognormal lengths, at most "
        f"{CHAT.longest} tokens, drawn anew with the round as the seed: {drawn}. The ladders have {len(POWERS.sizes)} "
        f"buckets of 16 to {LARGEST} tokens; a longer prompt fills the largest one first. Padding is in % of the real "
        "tokens. Cost is in tokens for each real token, by a model in which a launch costs as much as 64 tokens, the "
        "default, or 256; both are assumptions, not measurements. *decode*: sequences in a step "
        f"are Poisson with mean {RUNNING:.0f} (requests that come at random, on a server with room for all), in "
        f"{len(DECODE.sizes)} buckets of 1 to {SEQUENCES}; they run together, so all variants pad. The best ladders "
        "are made for the lengths that they are then tried on."
    )


SUITE = Suite(
    name="padding",
    title="Padding to buckets",
    about=_about(DISTRIBUTIONS),
    variants=tuple(VARIANTS),
    metrics=(
        *(Metric(f"{key}_padding", f"{key}: padding, %", 1) for key in DISTRIBUTIONS),
        *(Metric(f"{key}_slices", f"{key}: slices a prompt", 2) for key in DISTRIBUTIONS),
        *(Metric(f"{key}_cost", f"{key}: cost", 3) for key in DISTRIBUTIONS),
        Metric("decode_padding", "decode: padding, %", 1),
    ),
    comparisons=(
        (SLICED, POW2),
        (BEST, POW2),
        (BEST_SLICED, POW2),
        (SLICED_HEAVY, POW2_HEAVY),
        (DENSE_HEAVY, POW2_HEAVY),
    ),
    prepare=prepare,
    promises=tuple(
        Promise(f"{key}: at most half the padding", f"{key}_padding", SLICED, POW2, at_most=0.5)
        for key in DISTRIBUTIONS
    ),
)
