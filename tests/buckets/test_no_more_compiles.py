"""After warm-up nothing is compiled in service: an error that names the shape, or a counted warning. Case C24."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
import torch

from accelplug.buckets import Usage, WarmupPlan, no_more_compiles, running
from accelplug.errors import AccelplugError, BadInputError, ShapeRefusedError

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

Double = Callable[[torch.Tensor], torch.Tensor]

PLAN = WarmupPlan.of_sizes("tokens", (4, 8))


@pytest.fixture
def warm(fresh_dynamo: None) -> Double:
    """A function compiled for 4 and 8 tokens."""
    double: Double = torch.compile(lambda x: x * 2, backend="eager", dynamic=False)
    for tokens in (8, 4):
        double(torch.ones(tokens))
    return double


def test_what_is_warm_runs(warm: Double) -> None:
    with no_more_compiles(), running(PLAN, tokens=8):
        assert warm(torch.ones(8)).tolist() == [2.0] * 8


def test_a_shape_that_nobody_warmed_up_is_named_with_those_there_are(warm: Double) -> None:
    said = (
        "tokens=5 would have to be compiled in service, as nobody has warmed it up; there are tokens: 8, 4. torch says:"
    )
    with no_more_compiles(), pytest.raises(ShapeRefusedError, match=said), running(PLAN, tokens=5):
        warm(torch.ones(5))


def test_a_warm_shape_with_another_graph_is_told_from_a_new_shape(warm: Double) -> None:
    said = r"tokens=8 would have to be .* though its shape was warmed up: .* torch says: .*dtype"
    with no_more_compiles(), pytest.raises(ShapeRefusedError, match=said), running(PLAN, tokens=8):
        warm(torch.ones(8, dtype=torch.float64))


def test_other_errors_pass(warm: Double) -> None:
    with no_more_compiles(), pytest.raises(RuntimeError, match="out of memory"), running(PLAN, tokens=8):
        raise RuntimeError("out of memory")


def test_torch_compiles_again_afterwards(warm: Double) -> None:
    with no_more_compiles():
        pass
    assert warm(torch.ones(5)).tolist() == [2.0] * 5


def test_a_warning_names_the_shape_and_counts(warm: Double, caplog: pytest.LogCaptureFixture) -> None:
    usage = Usage("prefill")
    with no_more_compiles("warn", usage) as guard, caplog.at_level(logging.WARNING, "accelplug"):
        with running(PLAN, tokens=8):
            warm(torch.ones(8))
        assert guard.compiles == 0
        with running(PLAN, tokens=5):
            warm(torch.ones(5))
    assert guard.compiles == 1
    assert usage.snapshot().compiles_in_service == 1
    assert "compiling in service, for tokens=5, which was not warmed up so (compilation 1)" in caplog.text
    warm(torch.ones(6))
    assert guard.compiles == 1


def test_a_guard_starts_and_stops_without_a_block(warm: Double) -> None:
    guard = no_more_compiles()
    guard.start()
    with pytest.raises(AccelplugError, match="in force already"):
        guard.start()
    with pytest.raises(RuntimeError, match="fail_on_recompile"):
        warm(torch.ones(5))
    guard.stop()
    guard.stop()
    assert warm(torch.ones(5)).tolist() == [2.0] * 5


def test_an_unknown_mode_is_an_error() -> None:
    with pytest.raises(BadInputError, match=r"no_more_compiles\('off'\); the modes are: error, warn"):
        no_more_compiles("off")  # type: ignore[arg-type]
