"""A report in words: for the terminal, and as a page of the documentation.

``python -m accelplug.testing.summary report.json page.md`` writes the page; of runs with different groups, several
reports can be given.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from accelplug.testing.records import Ended, UpstreamReport, together

HEADINGS = {
    Ended.failed: "Failed",
    Ended.error: "Ended in an error, on import or in a fixture",
    Ended.xfailed: "Failed, as known",
    Ended.skipped: "Skipped by the test itself",
    Ended.left_out: "Not run",
    Ended.relaxed: "Passed with a relaxed tolerance",
}
COLUMNS = tuple(Ended)

RULES = """\
`make test-upstream` writes this page. It runs `pytest --accelplug-upstream vllm`, which fetches the source distribution
of the installed {title} once, into the user's cache, and runs a selection of its tests in a process of its own.

Test files aren't edited. While they are imported, `"cuda"`, `"cuda:0"` and `f"cuda:{{i}}"` become the device,
`torch.cuda` becomes the device's module and `x.cuda()` becomes `x.to(device)`. A floating-point comparison that fails
is made again with tolerances of at least 4 times the machine epsilon of the less precise dtype; a test that needed it
counts as *relaxed*. Names of models on the Hugging Face hub find small random ones that are made on the spot. A test
that is known to fail has to fail: one that passes is reported as failed.

    pytest --accelplug-upstream vllm --accelplug-upstream-select NAME   # one group of the table
    pytest --accelplug-upstream vllm tests/ir -k priority               # any of the project's tests
"""


def headline(report: UpstreamReport) -> str:
    """``vLLM 0.32.0 on neuron (simulated): 480 passed (3 of them relaxed), 20 xfailed, 70 skipped``."""
    counts = report.count()
    where = f"{report.device}{' (simulated)' if report.simulated else ''}"
    relaxed = f" ({counts[Ended.relaxed]} of them relaxed)" if counts[Ended.relaxed] else ""
    others = "".join(f", {counts[way]} {said(way)}" for way in COLUMNS if not way.good and counts[way])
    return f"{report.title} {report.version} on {where}: {report.passed} passed{relaxed}{others}"


def said(way: Ended) -> str:
    return str(way).replace("_", " ")


def reasons(report: UpstreamReport, way: Ended) -> list[tuple[str, list[str]]]:
    """Why tests ended so, the most frequent first, each with its tests: ``tests/ir/test_op.py::test_x (12)``."""
    by_reason: dict[str, Counter[str]] = {}
    for test in report.tests:
        if test.ended is way:
            by_reason.setdefault(test.why, Counter())[test.name.partition("[")[0]] += 1
    ordered = sorted(by_reason.items(), key=lambda item: (-item[1].total(), item[0]))
    return [(why, [f"{name} ({n})" if n > 1 else name for name, n in tests.items()]) for why, tests in ordered]


def lines(report: UpstreamReport) -> Iterator[str]:
    """For the terminal: a line for each group, then every reason with its tests, then the sum."""
    for group in report.groups:
        counts = report.count(group)
        yield f"{group:<24} " + ", ".join(f"{counts[way]} {said(way)}" for way in COLUMNS if counts[way])
    for way, heading in HEADINGS.items():
        for why, tests in reasons(report, way):
            yield f"{heading}: {why or 'within the rule'}"
            yield from (f"    {test}" for test in tests)
    for left_out in report.left_out:
        yield f"Not run: {left_out.why}"
        yield from (f"    {path}" for path in left_out.paths)
    for entry in report.out_of_date:
        yield f"Out of date: the selection names {entry}, and no such test was found"
    yield headline(report)


def markdown(report: UpstreamReport) -> str:
    """The page."""
    return "\n".join(_markdown(report)) + "\n"


def _markdown(report: UpstreamReport) -> Iterator[str]:
    yield f"# {report.title}'s own tests on accelplug's devices"
    yield f"\n{RULES.format(title=report.title)}"
    yield f"**{headline(report)}.** torch {report.torch}, accelplug {report.accelplug}."
    if report.simulated:
        yield "The device was simulated: this says nothing about hardware."
    yield "\n| group | what it says | " + " | ".join(said(way) for way in COLUMNS) + " |"
    yield "|---|---|" + "---:|" * len(COLUMNS)
    for group, why in report.groups.items():
        counts = report.count(group)
        yield f"| {group} | {_cell(why)} | " + " | ".join(str(counts[way] or "") for way in COLUMNS) + " |"
    for way, heading in HEADINGS.items():
        if found := reasons(report, way):
            yield f"\n## {heading}\n"
            for why, tests in found:
                yield f"* {_cell(why) or 'Within the rule'}:"
                yield from (f"    * `{test}`" for test in tests)
    if report.left_out:
        yield "\n## Files that are not run\n"
        for left_out in report.left_out:
            yield f"* {_cell(left_out.why)}: " + ", ".join(f"`{path}`" for path in left_out.paths)


def _cell(text: str) -> str:
    """On one line, and nothing in it is markup."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


def main(*files: str) -> None:
    """Turns reports, as --accelplug-upstream-json writes them, into the page that is the last of ``files``."""
    *sources, page = files
    report = together(UpstreamReport.model_validate_json(Path(source).read_text("utf-8")) for source in sources)
    Path(page).write_text(markdown(report), encoding="utf-8")
    print(f"{page}: {headline(report)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
