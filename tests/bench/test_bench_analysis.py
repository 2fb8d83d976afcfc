"""What a run says: how far from the limit, what to do next, and what changed since another run."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from bench_records import LIMITS, SIZES, device, run, workload

from accelplug.bench import analysis
from accelplug.bench.comparing import compare
from accelplug.bench.page import page
from accelplug.errors import BadInputError


def test_a_limit_is_what_is_moved_or_computed_whichever_takes_longer() -> None:
    moves, computes = workload("copy", 2e-3), workload("product", 2e-3, flops=10**12)
    assert (analysis.limit(moves, LIMITS), analysis.bound(moves, LIMITS)) == (1e-3, analysis.Bound.memory)
    assert (analysis.limit(computes, LIMITS), analysis.bound(computes, LIMITS)) == (1.0, analysis.Bound.compute)
    assert analysis.share(moves, LIMITS) == 0.5


def test_advice_begins_with_what_cannot_run_and_goes_on_with_what_gains_most() -> None:
    found = analysis.advice(
        device(
            "acme",
            workload("at its limit", 1e-3),
            workload("slow", 4e-3),
            workload("slower, and on the CPU", 9e-3, fell_back=("aten::sort",)),
            workload("impossible", 0.0).model_copy(update={"error": "RuntimeError: no sort"}),
        )
    )
    assert [each.name for each in found] == ["impossible", "slower, and on the CPU", "slow"]
    assert found[0].found == "RuntimeError: no sort"
    assert found[1].found == "aten::sort ran on the CPU"
    assert found[1].gain == pytest.approx(8 / 14)  # of a step, whose 14 parts are 1, 4 and 9
    assert found[2].found == "25% of the memory limit"
    assert "accelplug_kernels" in found[2].what


def test_a_call_as_short_as_the_smallest_one_wants_fewer_calls_and_no_kernel() -> None:
    (only,) = analysis.advice(device("acme", workload("tiny", 2e-6, bytes=10)))
    assert "the smallest operator takes 50% of this one" in only.found
    assert only.what.startswith("make fewer calls")


def test_an_own_kernel_is_named_where_it_is_slow() -> None:
    (only,) = analysis.advice(device("acme", workload("norm", 4e-3, kernels=("acme/norm",))))
    assert only.what == "tune acme/norm, which ran it"


def test_a_layer_is_not_counted_beside_the_operators_that_it_is_made_of() -> None:
    found = device("acme", workload("add", 1e-3), workload("the layer", 5e-3, kind="layer"))
    assert analysis.step_seconds(found, "decode") == 2e-3


def test_a_change_is_one_where_it_is_larger_than_noise_and_the_rounds_do_not_overlap() -> None:
    before = run(device("acme", *(workload(name, 1e-3) for name in ("a", "b", "c", "d"))))
    wide = workload("d", 1.5e-3).model_copy(update={"least": 0.9e-3})
    now = run(device("acme", workload("a", 1.5e-3), workload("b", 0.5e-3), workload("c", 1.05e-3), wide))
    found = compare(now, before)
    assert {change.name: change.verdict for change in found.changes} == {
        "a": "slower",
        "b": "quicker",
        "c": "same",
        "d": "same",
    }
    assert [change.name for change in found.slower] == ["a"]


def test_what_ran_before_and_fails_now_counts_as_worse() -> None:
    broken = workload("a", 0.0).model_copy(update={"error": "RuntimeError: gone"})
    found = compare(run(device("acme", broken)), run(device("acme", workload("a", 1e-3))))
    assert [change.verdict for change in found.slower] == ["broken"]


def test_runs_on_other_software_are_compared_and_say_so() -> None:
    one = device("acme", workload("a", 1e-3))
    assert compare(run(one, torch="2.14.0"), run(one)).other == ("torch: 2.13.0, now 2.14.0",)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (run(device("acme"), dtype="float16"), "only equal sizes and dtypes can be compared"),
        (run(device("acme"), model=SIZES.model_copy(update={"name": "large"})), "tiny in float32 and large in float32"),
        (run(device("emca")), "no device in common: acme, and emca"),
    ],
)
def test_runs_of_something_else_are_not_compared(other: object, why: str) -> None:
    with pytest.raises(BadInputError, match=re.escape(why)):
        compare(run(device("acme")), other)  # type: ignore[arg-type]


def test_the_page_needs_nothing_from_outside_and_says_what_is_simulated() -> None:
    made = page(run(device("cpu", workload("add", 1e-3)), device("acme", workload("add", 2e-3), simulated=True)))
    asked: list[str] = []

    class Loads(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            asked.extend(value or "" for name, value in attributes if name in ("src", "href"))

    Loads().feed(made)
    assert asked == []
    assert "<strong>acme is simulated.</strong>" in made
    assert "2.0 × the best" in made
