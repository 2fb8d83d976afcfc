"""RESULTS.md from the stored results: only what was measured, and whether it keeps what was promised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from benchmarks.records import Result, Results
from benchmarks.statistics import Spread, identical, ratios, spread, values
from benchmarks.suite import Promise, Suite

INTRODUCTION = """\
# Benchmark results

Written by `python -m benchmarks` from `results.json`, which has every run. In each round the variants run one after
the other, each in fresh processes, in an order that turns round every time. A cell is the median and, in brackets, the
least and the greatest; a ratio is formed within each round first.
"""


def render(suites: Mapping[str, Suite], results: Results) -> str:
    """The whole page; a suite without a result says so."""
    sections = [_section(suite, results.suites.get(name)) for name, suite in suites.items()]
    return "\n".join([INTRODUCTION, *sections])


def _section(suite: Suite, result: Result | None) -> str:
    head = [f"## {suite.title}", "", suite.about, ""]
    if result is None:
        return "\n".join([*head, f"Not measured yet: `python -m benchmarks {suite.name}`.", ""])
    parts = [_conditions(result), _measurements(suite, result), _comparisons(suite, result), _promises(suite, result)]
    return "\n".join([*head, *(f"{part}\n" for part in parts if part)])


def _conditions(result: Result) -> str:
    where, found = result.machine, ", ".join(f"{name} {version}" for name, version in result.versions.items())
    return (
        f"{result.finished}; {result.rounds} rounds; {where.cpu}, {where.cores} logical cores, {where.memory_gib} GiB, "
        f"{where.system}, load average before it {where.load}; {found}."
    )


def _measurements(suite: Suite, result: Result) -> str:
    rows = (
        [variant, *(cell(values(result.runs, variant, metric.key), metric.digits) for metric in suite.metrics)]
        for variant in suite.variants
    )
    return table(["", *(metric.title for metric in suite.metrics)], rows)


def _comparisons(suite: Suite, result: Result) -> str:
    rows = (
        [
            f"{variant} ÷ {baseline}",
            *(cell(ratios(result.runs, variant, baseline, metric.key)) for metric in suite.metrics),
        ]
        for variant, baseline in suite.comparisons
    )
    return table(["ratio", *(metric.title.removesuffix(", s").removesuffix(", ms") for metric in suite.metrics)], rows)


def _promises(suite: Suite, result: Result) -> str:
    rows = [*(_judged(promise, result) for promise in suite.promises)]
    if suite.same_outputs:
        rows += _same_outputs(suite, result)
    return table(["promise", "must be", "measured", ""], rows) if rows else ""


def _judged(promise: Promise, result: Result) -> list[str]:
    measured = spread(measured_for(promise, result))
    against = f" ÷ {promise.baseline}" if promise.baseline else ""
    bound = f"≥ {promise.at_least}" if promise.at_least is not None else f"≤ {promise.at_most}"
    title = f"{promise.text} ({promise.variant}{against})"
    return [title, bound, _shown(measured), verdict(promise.kept(measured.median))]


def measured_for(promise: Promise, result: Result) -> list[float]:
    """The promise's number in each round."""
    if promise.baseline is None:
        return values(result.runs, promise.variant, promise.metric)
    return ratios(result.runs, promise.variant, promise.baseline, promise.metric)


def _same_outputs(suite: Suite, result: Result) -> Iterator[list[str]]:
    baseline = suite.variants[0]
    prompts = len(next(run.outputs for run in result.runs if run.variant == baseline))
    for variant in suite.variants[1:]:
        same = identical(result.runs, variant, baseline)
        measured = f"{min(same)} of {prompts} prompts in the worst round"
        yield [f"the same tokens as {baseline} ({variant})", "all", measured, verdict(min(same) == prompts)]


def verdict(kept: bool) -> str:
    return "kept" if kept else "**not kept**"


def cell(numbers: list[float], digits: int | None = None) -> str:
    """A table cell with ``digits`` after the point, None for a ratio's; a dash where the variant has no such metric."""
    return _shown(spread(numbers), digits) if numbers else "–"


def _shown(measured: Spread, digits: int | None = None) -> str:
    median, least, greatest = (_number(value, digits) for value in (measured.median, measured.least, measured.greatest))
    return f"{median} ({least}–{greatest})"


def _number(value: float, digits: int | None) -> str:
    if digits is not None:
        return f"{value:.{digits}f}"
    return f"{value:.3f}" if value >= 0.01 else f"{value:.1g}"


def table(header: list[str], rows: Iterable[list[str]]) -> str:
    """A Markdown table; all columns but the first are numbers."""
    rule = ["---", *("---:" for _ in header[1:])]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])
