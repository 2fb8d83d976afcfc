"""A report in words, for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from accelplug.testing.records import Ended, UpstreamReport

# In the order in which they are printed: what needs somebody to look comes last, next to the sum.
HEADINGS = {
    Ended.left_out: "Not run",
    Ended.skipped: "Skipped by the test itself",
    Ended.xfailed: "Failed, as known",
    Ended.relaxed: "Passed with a relaxed tolerance",
    Ended.error: "Ended in an error, on import or in a fixture",
    Ended.failed: "Failed",
}
COLUMNS = tuple(Ended)


def headline(report: UpstreamReport) -> str:
    """``vLLM 0.32.0 on neuron (simulated): 480 passed (3 of them relaxed), 20 xfailed, 70 skipped``."""
    counts = report.count()
    relaxed = f" ({counts[Ended.relaxed]} of them relaxed)" if counts[Ended.relaxed] else ""
    others = "".join(f", {counts[way]} {said(way)}" for way in COLUMNS if not way.good and counts[way])
    return f"{report.where}: {report.passed} passed{relaxed}{others}"


def said(way: Ended) -> str:
    """``left out``, for people."""
    return str(way).replace("_", " ")


def reasons(report: UpstreamReport, way: Ended) -> list[tuple[str, Counter[str]]]:
    """Why tests ended so, the most frequent first, each with its tests: how many of each, parameters apart."""
    by_reason: dict[str, Counter[str]] = {}
    for test in report.tests:
        if test.ended is way:
            by_reason.setdefault(test.why, Counter())[test.name.partition("[")[0]] += 1
    return sorted(by_reason.items(), key=lambda item: (-item[1].total(), item[0]))


def named(tests: Counter[str]) -> list[str]:
    """``tests/ir/test_op.py::test_x (12)``."""
    return [f"{name} ({n})" if n > 1 else name for name, n in tests.items()]


def lines(report: UpstreamReport, every_test: bool) -> Iterator[str]:
    """Every reason with how many tests it had, a line for each group, then the sum.

    Failures come with their tests, the rest only where ``every_test`` is set.
    """
    for way, heading in HEADINGS.items():
        found = reasons(report, way)
        if found:
            yield f"{heading}:"
        for why, tests in found:
            yield f"{tests.total():>6}  {why or 'within the rule'}"
            if every_test or way in (Ended.failed, Ended.error):
                yield from (f"{'':>8}{name}" for name in named(tests))
    for left_out in report.left_out:
        yield f"Files not run: {left_out.why}: {', '.join(left_out.paths)}"
    for entry in report.out_of_date:
        yield f"Out of date: the selection names {entry}, and no such test was found"
    yield ""
    yield from _table(report)
    yield ""
    yield headline(report)


def _table(report: UpstreamReport) -> Iterator[str]:
    """How the tests of each group ended, without the ways in which none did."""
    counts = report.count()
    ways = [way for way in COLUMNS if counts[way]]
    width = max(map(len, [*report.groups, "group"]))
    yield f"{'group':<{width}}" + "".join(f"{said(way):>10}" for way in ways)
    for group in report.groups:
        of_group = report.count(group)
        yield f"{group:<{width}}" + "".join(f"{of_group[way] or '':>10}" for way in ways)
