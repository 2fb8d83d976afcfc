"""The warm-up plan: which shapes, in which order, how long, and how it goes."""

from __future__ import annotations

import io
import itertools

import pytest
from rich.console import Console

from accelplug.buckets import Grid, Ladder, Slicer, WarmupError, WarmupPlan, warmup


def transcript(terminal: bool = False) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=60)


def said(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.fixture
def slow_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock is 30 seconds after the one before."""
    ticks = itertools.count(step=30)
    monkeypatch.setattr(warmup.time, "monotonic", lambda: float(next(ticks)))


def test_the_largest_shape_comes_first() -> None:
    plan = WarmupPlan(axes=("tokens", "seqs"), shapes=((8, 1), (64, 8), (64, 1), (8, 8), (64, 8)))
    assert plan.shapes == ((64, 8), (64, 1), (8, 8), (8, 1))


def test_a_plan_is_made_of_a_grid_or_of_what_a_slicer_uses() -> None:
    grid = Grid.product(
        {"tokens": Ladder((1, 8)), "seqs": Ladder((1, 8))}, lambda tokens, seqs: seqs.start < tokens.stop
    )
    assert WarmupPlan.of_grid(grid).shapes == ((8, 8), (8, 1), (1, 1))
    assert WarmupPlan.of_sizes("tokens", Slicer(Ladder((16, 64))).used(100)).shapes == ((64,), (16,))


def test_the_estimate_comes_before_the_first_compilation() -> None:
    plan = WarmupPlan.of_sizes("tokens", (16, 64, 256), seconds_each=90)
    assert plan.described() == "3 shapes to compile (tokens: 256, 64, 16); about 4 min, at 90 s each"
    unknown = WarmupPlan.of_sizes("tokens", (16,))
    assert unknown.seconds is None
    assert unknown.described() == "1 shape to compile (tokens: 16); how long that takes is known after the first"


def test_a_long_plan_is_named_in_part() -> None:
    assert WarmupPlan.of_sizes("tokens", range(1, 21)).listed().endswith(", 10, 9, and 8 more")


def test_running_a_plan_compiles_each_shape_once_by_name() -> None:
    calls: list[dict[str, int]] = []
    plan = WarmupPlan(axes=("tokens", "seqs"), shapes=((8, 1), (64, 8)))
    console = transcript()
    took = warmup.run(plan, lambda **sizes: calls.append(sizes), console)
    assert calls == [{"tokens": 64, "seqs": 8}, {"tokens": 8, "seqs": 1}]
    assert len(took) == 2
    assert "accelplug: 2 shapes to compile (tokens×seqs: 64×8, 8×1)" in said(console)
    assert "accelplug: 2 compiled in 0.0 s" in said(console)


@pytest.mark.usefixtures("slow_clock")
def test_in_a_log_the_time_left_is_said_now_and_then_by_what_the_first_ones_took() -> None:
    console = transcript()
    warmup.run(WarmupPlan.of_sizes("tokens", (1, 2, 3, 4)), lambda tokens: None, console)
    assert "accelplug: compiled 1 of 4; 90 s left" in said(console)
    assert "accelplug: 4 compiled in 2 min" in said(console)


@pytest.mark.usefixtures("slow_clock")
def test_on_a_terminal_a_bar_shows_it() -> None:
    console = transcript(terminal=True)
    warmup.run(WarmupPlan.of_sizes("tokens", (1, 2)), lambda tokens: None, console)
    assert "compiling 1" in said(console)
    assert "2/2" in said(console)


def test_a_shape_that_fails_is_named() -> None:
    def fail(tokens: int) -> None:
        raise MemoryError("no room")

    with pytest.raises(WarmupError, match="warm-up of tokens=64 failed: MemoryError: no room") as raised:
        warmup.run(WarmupPlan.of_sizes("tokens", (16, 64)), fail, transcript())
    assert isinstance(raised.value.__cause__, MemoryError)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.44, "0.4 s"), (12.3, "12 s"), (200, "3 min"), (4800, "1 h 20 min"), (7199, "2 h 0 min")]
)
def test_durations_are_for_people(seconds: float, text: str) -> None:
    assert warmup.duration(seconds) == text
