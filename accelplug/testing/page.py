"""A report as a section of a page of the documentation. The page keeps the sections of other devices."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from accelplug.testing.records import UpstreamReport
from accelplug.testing.summary import COLUMNS, HEADINGS, headline, named, reasons, said
from accelplug.testing.upstream import Upstream

RULES = """\
Test files aren't edited. While they are imported, `"cuda"`, `"cuda:0"` and `f"cuda:{i}"` become the device,
`torch.cuda` becomes the device's module and `x.cuda()` becomes `x.to(device)`. A floating-point comparison that fails
is made again with tolerances of at least 4 times the machine epsilon of the less precise dtype; a test that needed it
counts as *relaxed*."""
KNOWN = "A test that is known to fail has to fail (*xfailed*): one that passes is reported as failed."
WIDTH = 120


def write(file: Path, report: UpstreamReport, project: Upstream) -> None:
    """Puts ``report`` in the place of its device's section in ``file``, which need not be there yet."""
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    file.write_text(with_section(before, report, project), encoding="utf-8")


def with_section(page: str, report: UpstreamReport, project: Upstream) -> str:
    """``page`` with ``report`` as the section of its device, in the order of their names.

    What stands before the sections is the ``project``'s words and the rules that hold for all projects.
    """
    sections = {part.partition("\n")[0]: part for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:]}
    sections[report.device] = "\n".join(_section(report)) + "\n"
    whole = [f"# {report.title}'s own tests on accelplug's devices\n", *_head(project)]
    whole += [f"## {sections[device].rstrip()}\n" for device in sorted(sections)]
    return "\n".join(whole)


def _head(project: Upstream) -> Iterator[str]:
    if project.introduction:
        yield project.introduction.rstrip() + "\n"
    rules = " ".join(filter(None, (RULES, project.rules, KNOWN)))
    yield textwrap.fill(rules, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def _section(report: UpstreamReport) -> Iterator[str]:
    yield report.device
    yield f"\n**{headline(report)}.** torch {report.torch}, accelplug {report.accelplug}."
    if report.simulated:
        yield "The device was simulated: this says nothing about hardware."
    yield "\n| group | what it says | " + " | ".join(said(way) for way in COLUMNS) + " |"
    yield "|---|---|" + "---:|" * len(COLUMNS)
    for group, why in report.groups.items():
        counts = report.count(group)
        yield f"| {group} | {_cell(why)} | " + " | ".join(str(counts[way] or "") for way in COLUMNS) + " |"
    for way, heading in reversed(HEADINGS.items()):
        if found := reasons(report, way):
            yield f"\n### {heading}\n"
            for why, tests in found:
                yield f"* {_cell(why) or 'within the rule'}:"
                yield from (f"    * `{test}`" for test in named(tests))
    if report.left_out:
        yield "\n### Files that are not run\n"
        for left_out in report.left_out:
            yield f"* {_cell(left_out.why)}: " + ", ".join(f"`{path}`" for path in left_out.paths)


def _cell(text: str) -> str:
    """On one line, and nothing in it is markup."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
