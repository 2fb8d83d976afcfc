"""Records on a terminal. The words come from `accelplug.show`; here are columns, colours and wrapping."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from accelplug import show
from accelplug.doctor import Action, Finding, Level, Report
from accelplug.specs import Candidate, Explanation, OpExplanation, Selection, Verdict

UNWRAPPED = 10_000
VERDICT_STYLES = {
    Verdict.usable: "green",
    Verdict.no_hardware: "dim",
    Verdict.disabled: "dim",
    Verdict.broken: "bold red",
}
LEVEL_MARKS = {Level.ok: ("✓", "green"), Level.warning: ("!", "yellow"), Level.error: ("✗", "bold red")}
OUTCOME_STYLES = {"done": "green", "failed": "bold red", "declined": "yellow"}


def console(stderr: bool = False) -> Console:
    """As wide as the terminal. Where there is none (and no COLUMNS) lines stay whole, so that tools can read them."""
    piped = not (sys.stderr if stderr else sys.stdout).isatty()
    width = UNWRAPPED if piped and "COLUMNS" not in os.environ else None
    return Console(stderr=stderr, highlight=False, markup=False, width=width)


def selection(out: Console, chosen: Selection) -> None:
    """The headline, the table of candidates, and what to do about those that could be made to work."""
    out.print(Text(show.headline(chosen), style="bold"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in show.COLUMNS[:-1]:
        table.add_column(column, no_wrap=True, justify="right" if column in ("devices", "probe") else "left")
    table.add_column(show.COLUMNS[-1], overflow="fold")
    for candidate in chosen.candidates:
        table.add_row(*_cells(candidate, chosen))
    out.print()
    out.print(table)
    hints = [(f"{c.name}:", c.remedy) for c in chosen.candidates if c.remedy]
    if hints:
        out.print()
        out.print(Text("what to do"))
        _pairs(out, hints, indent=2)


def _cells(candidate: Candidate, chosen: Selection) -> list[Text]:
    row_style = "bold" if candidate.name == chosen.chosen else ""
    cells = [Text(cell, style=row_style) for cell in show.row(candidate, chosen)]
    cells[show.COLUMNS.index("verdict")].stylize(VERDICT_STYLES.get(candidate.verdict, "yellow"))
    return cells


def explanation(out: Console, explained: Explanation) -> None:
    """The headline, the settings in force, and everything that is known about each candidate."""
    chosen = explained.selection
    out.print(Text(show.headline(chosen), style="bold"))
    _pairs(out, [(f"{name} =", value) for name, value in explained.settings.items()], indent=2)
    for candidate in explained.candidates:
        heading = f"{show.mark(candidate, chosen)} {candidate.name}: {candidate.title}"
        out.print()
        out.print(Text(heading, style="bold"))
        _pairs(out, [(f"{label}:", text.lstrip("\n")) for label, text in show.facts(candidate, chosen)], indent=4)


def op_explanation(out: Console, explained: OpExplanation) -> None:
    """The headline, each kernel with what becomes of it, and what comes after all of them."""
    out.print(Text(explained.headline(), style="bold"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, show_header=False)
    for _ in range(3):
        table.add_column(no_wrap=True)
    for _ in range(2):
        table.add_column(overflow="fold")
    for row in explained.rows():
        table.add_row(*row)
    if explained.kernels:
        out.print(table)
    else:
        out.print(Text(f"{explained.device} brings no kernel for {explained.op}"))
    out.print(Text(f"then: {explained.otherwise}"))


def report(out: Console, found: Report, verbose: bool = False) -> None:
    """Each finding with its mark, what to do under it, and a line of counts; ``verbose`` has details of all."""
    table = _grid()
    table.columns[0].no_wrap = True
    table.add_column(overflow="fold")
    for finding in found.findings:
        mark, style = LEVEL_MARKS[finding.level]
        table.add_row(Text(mark, style=style), Text(finding.check), Text(finding.summary))
        for label, text in _below(finding, verbose):
            table.add_row("", "", Text(f"{label}: ", style="bold" if label == "what to do" else "dim").append(text))
    out.print(table)
    counts = found.counts
    errors, warnings, fine = (counts[level] for level in (Level.error, Level.warning, Level.ok))
    out.print()
    said = f"{errors} error{'' if errors == 1 else 's'}, {warnings} warning{'' if warnings == 1 else 's'}, {fine} ok"
    out.print(Text(said, style="bold"))


def _below(finding: Finding, verbose: bool) -> Iterable[tuple[str, str]]:
    if finding.level is Level.ok and not verbose:
        return
    if finding.remedy:
        yield "what to do", finding.remedy
    for label, text in finding.details.items():
        yield label, ("\n" if "\n" in text else "") + text.rstrip()


def fixes(out: Console, found: Report) -> None:
    """What ``--fix`` would do."""
    fixable = [finding.fix.action for finding in found.findings if finding.fix]
    if fixable:
        out.print(Text("accelplug doctor --fix would:", style="bold"))
        _pairs(out, [("-", action) for action in fixable], indent=2)


def action(out: Console, done: Action) -> None:
    """One fix and how it ended."""
    out.print(Text.assemble((done.outcome, OUTCOME_STYLES[done.outcome]), f": {done.action}: {done.said}"))


def _pairs(out: Console, pairs: Iterable[tuple[str, str]], indent: int) -> None:
    """Labels in one column, texts beside them, wrapped in their own column."""
    table = _grid()
    for label, text in pairs:
        table.add_row(Text(label), Text(text))
    out.print(Padding(table, (0, 0, 0, indent), expand=False))


def _grid() -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table
