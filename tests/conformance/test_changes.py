"""What changed between two reports: worse, better, and not comparable."""

from __future__ import annotations

import pytest
from made_up_reports import area, check, report

from accelplug.conformance import changes
from accelplug.conformance.changes import Change
from accelplug.errors import BadInputError

OTHER = "f" * 12


def test_a_check_that_fails_now_is_worse_and_one_that_passes_now_is_better() -> None:
    before = report(area("rng", check("rng", "a seed"), check("rng", "a fork", "error", "it crashed")))
    after = report(area("rng", check("rng", "a seed", "failed", "got 3"), check("rng", "a fork")))
    found = changes.compare(before, after)
    assert found.worse == (Change(area="rng", name="a seed", before="passed", after="failed", why="got 3"),)
    assert found.better == (Change(area="rng", name="a fork", before="error", after="passed", why="it crashed"),)
    assert (found.ok, found.unchanged) == (False, 0)


def test_what_is_not_shown_any_more_is_worse_but_better_than_wrong() -> None:
    passed, skipped, wrong = (area("rng", check("rng", "a seed", how)) for how in ("passed", "skipped", "failed"))
    assert not changes.compare(report(passed), report(skipped)).ok
    assert changes.compare(report(wrong), report(skipped)).ok


def test_an_operator_that_falls_back_now_is_worse_though_its_check_passes() -> None:
    before = report(area("ops", check("ops", "mm", forward="native", backward="right")))
    after = report(area("ops", check("ops", "mm", forward="fallback", backward="right", fell_back=["aten::mm"])))
    (change,) = changes.compare(before, after).worse
    assert change.before == "passed (forward native, backward right)"
    assert (change.after, change.why) == ("passed (forward fallback, backward right)", "aten::mm")
    assert changes.compare(after, before).ok


def test_areas_that_asked_something_else_are_not_compared() -> None:
    before = report(area("rng", version=OTHER), area("memory"))
    after = report(area("rng", check("rng", "it works", "failed")), area("saving"))
    found = changes.compare(before, after)
    assert found.ok
    assert [(each.area, each.why.split(" (")[0]) for each in found.incomparable] == [
        ("rng", "its checks asked something else"),
        ("memory", "only the earlier report has it"),
        ("saving", "only the later report has it"),
    ]


def test_checks_that_one_report_lacks_are_named() -> None:
    before = report(area("ops", check("ops", "mm"), check("ops", "add")))
    after = report(area("ops", check("ops", "mm")))
    (only,) = changes.compare(before, after).incomparable
    assert only.why == "only one report has add (1 in all)"


def test_a_lower_level_is_worse() -> None:
    before = report(area("probe", check("probe", "a reason")))
    after = report(area("probe", check("probe", "a reason", "failed", "there is none")))
    worse = changes.compare(before, after).worse
    assert [(change.area, change.before, change.after) for change in worse] == [
        ("probe", "passed", "failed"),
        ("level", "detects", "none"),
    ]


def test_what_ran_is_said_of_both() -> None:
    found = changes.compare(report(simulated=True, torch="2.13"), report(simulated=False, torch="2.14"))
    assert (found.before["run on"], found.after["run on"]) == ("a simulation", "hardware")
    assert (found.before["torch"], found.after["torch"]) == ("2.13", "2.14")
    assert found.before["digest"] != found.after["digest"]


def test_two_devices_are_not_compared() -> None:
    with pytest.raises(BadInputError, match="a report of acme and one of other can't be compared"):
        changes.compare(report(), report(device="other"))
