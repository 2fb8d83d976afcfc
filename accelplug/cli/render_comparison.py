"""What changed between two conformance reports, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from accelplug.conformance.changes import Change, Comparison

MOST = 40  # changes of a kind that are listed


def comparison(out: Console, found: Comparison) -> None:
    """The headline, what ran before and after, then what got worse, better, and what can't be compared."""
    worse, better = len(found.worse), len(found.better)
    said = f"{found.device}: {worse} worse, {better} better, {found.unchanged} unchanged"
    out.print(Text(said, style="bold green" if found.ok else "bold red"))
    out.print()
    out.print(_ran(found))
    for title, style, changes in (("worse", "bold red", found.worse), ("better", "green", found.better)):
        if changes:
            out.print()
            out.print(Text(title, style=style))
            out.print(_table(changes[:MOST]))
        if len(changes) > MOST:
            out.print(Text(f"… and {len(changes) - MOST} more: --json has them all", style="bold"))
    if found.incomparable:
        out.print()
        out.print(Text("not comparable", style="yellow"))
    for area in found.incomparable:
        out.print(Text(f"  {area.area}: {area.why}"))


def _ran(found: Comparison) -> Table:
    """A row for each thing that is known of either; what differs stands out."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in ("", "before", "after"):
        table.add_column(column, overflow="fold")
    for name in dict.fromkeys((*found.before, *found.after)):
        then, now = found.before.get(name, "-"), found.after.get(name, "-")
        table.add_row(Text(name), Text(then), Text(now), style="bold" if then != now else "dim")
    return table


def _table(changes: Sequence[Change]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in ("area", "check", "before", "after", "why"):
        table.add_column(column, overflow="fold", no_wrap=column == "area")
    for change in changes:
        why = change.why.splitlines()[0] if change.why else ""
        table.add_row(*map(Text, (change.area, change.name, change.before, change.after, why)))
    return table
