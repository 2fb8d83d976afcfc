"""A report as a section of a page of the documentation. The page keeps the sections of other devices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from accelplug.testing.records import UpstreamReport
from accelplug.testing.summary import COLUMNS, HEADINGS, headline, named, reasons, said

RULES = """\
`make test-upstream` runs a selection of {title}'s tests, of the installed version, on a simulated device, and writes
that device's section of this page. It runs `pytest --accelplug-upstream vllm`, which fetches the source distribution of
{title} once, into the user's cache.

    make test-upstream                                                  # on neuron
    ACCELPLUG_SIMULATE=spyre make test-upstream                         # on spyre
    pytest --accelplug-upstream vllm                                    # on the device of this machine
    pytest --accelplug-upstream vllm --accelplug-upstream-select NAME   # one group of the tables below
    pytest --accelplug-upstream vllm tests/ir -k priority               # any of the project's tests

Test files aren't edited. While they are imported, `"cuda"`, `"cuda:0"` and `f"cuda:{{i}}"` become the device,
`torch.cuda` becomes the device's module and `x.cuda()` becomes `x.to(device)`. A floating-point comparison that fails
is made again with tolerances of at least 4 times the machine epsilon of the less precise dtype; a test that needed it
counts as *relaxed*. Names of models on the Hugging Face hub find small random ones that are made on the spot. A test
that is known to fail has to fail (*xfailed*): one that passes is reported as failed.
"""


def write(file: Path, report: UpstreamReport) -> None:
    """Puts ``report`` in the place of its device's section in ``file``, which need not be there yet."""
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    file.write_text(with_section(before, report), encoding="utf-8")


def with_section(page: str, report: UpstreamReport) -> str:
    """``page`` with ``report`` as the section of its device, in the order of their names."""
    sections = {part.partition("\n")[0]: part for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:]}
    sections[report.device] = "\n".join(_section(report)) + "\n"
    whole = [f"# {report.title}'s own tests on accelplug's devices\n\n{RULES.format(title=report.title)}"]
    whole += [f"## {sections[device].rstrip()}\n" for device in sorted(sections)]
    return "\n".join(whole)


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
