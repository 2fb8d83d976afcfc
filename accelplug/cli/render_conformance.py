"""A conformance report on a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from accelplug.conformance import AreaReport, Check, ConformanceReport, Outcome
from accelplug.conformance.summary import OPS, headline, level_line, ops_line, provenance

STYLES = {Outcome.passed: "green", Outcome.failed: "bold red", Outcome.error: "bold red", Outcome.skipped: "yellow"}
MOST_WRONG = 20  # checks that are listed
MOST_SKIPPED = 12  # reasons that are listed
MOST_MISSING = 8  # areas that are listed of what the next level lacks


def report(out: Console, found: ConformanceReport) -> None:
    """The headline, a row for each area, then what is wrong with why and what to do, and what was left out."""
    out.print(Text(headline(found), style="bold green" if found.ok else "bold red"))
    out.print(Text(provenance(found), style="dim"))
    out.print(Text(level_line(found), style="bold"))
    for missing in found.standing.missing[:MOST_MISSING]:
        _indented(out, Text(missing))
    out.print()
    out.print(_table(found))
    if found.has(OPS):
        out.print()
        out.print(Text(ops_line(found)))
    wrong = found.wrong()
    for check in wrong[:MOST_WRONG]:
        out.print()
        _wrong(out, check)
    if len(wrong) > MOST_WRONG:
        out.print()
        out.print(
            Text(f"… and {len(wrong) - MOST_WRONG} more: --html shows them all, and --json has them", style="bold")
        )
    _left_out(out, found)


def _table(found: ConformanceReport) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("")
    table.add_column("area", no_wrap=True)
    for column in ("passed", "failed", "errors", "skipped", "time"):
        table.add_column(column, justify="right", no_wrap=True)
    for area in found.areas:
        counts = area.counts
        cells = [_count(counts[outcome], outcome) for outcome in _COLUMNS]
        table.add_row(_mark(area), Text(area.name), *cells, Text(f"{area.seconds:.1f} s", style="dim"))
    return table


_COLUMNS = (Outcome.passed, Outcome.failed, Outcome.error, Outcome.skipped)


def _mark(area: AreaReport) -> Text:
    if not area.ok:
        return Text("✗", style="bold red")
    return Text("✓", style="green") if area.counts[Outcome.passed] else Text("-", style="yellow")


def _count(number: int, outcome: Outcome) -> Text:
    return Text(str(number), style=STYLES[outcome]) if number else Text("·", style="dim")


def _wrong(out: Console, check: Check) -> None:
    out.print(Text.assemble(("✗ ", "bold red"), (f"{check.area}: {check.name}", "bold")))
    _indented(out, *map(Text, check.why.splitlines()))
    if check.remedy:
        _indented(out, Text.assemble(("what to do: ", "bold"), check.remedy))


def _indented(out: Console, *lines: Text) -> None:
    """Each line by itself, as a block would be padded to its longest."""
    for line in lines:
        out.print(Padding(line, (0, 0, 0, 2), expand=False))


def _left_out(out: Console, found: ConformanceReport) -> None:
    """Reasons for which checks were skipped, each once with how many have it."""
    reasons: dict[tuple[str, str], int] = {}
    for area in found.areas:
        for check in area.checks:
            if check.outcome is Outcome.skipped and area.name != OPS:
                reasons[area.name, check.why] = reasons.get((area.name, check.why), 0) + 1
    if not reasons:
        return
    out.print()
    out.print(Text("left out", style="bold"))
    for (name, why), number in [*reasons.items()][:MOST_SKIPPED]:
        out.print(Text(f"  {name}: {number} × {why}" if number > 1 else f"  {name}: {why}"))
    if len(reasons) > MOST_SKIPPED:
        out.print(Text(f"  … and {len(reasons) - MOST_SKIPPED} more reasons: --json has them all"))
