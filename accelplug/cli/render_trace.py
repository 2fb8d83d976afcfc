"""A trace in numbers, on a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from accelplug.reporting import units
from accelplug.tracing.summary import OpTime, TraceSummary


def summary(out: Console, numbers: TraceSummary) -> None:
    """The answer, how long, time on devices by kind, what fell back, and the files."""
    if numbers.answer is not None:
        out.print(Text("answer: ", style="bold").append(repr(numbers.answer), style="not bold"))
    steps = f", {units.count(numbers.steps)} step{'s' * (numbers.steps != 1)}" if numbers.steps else ""
    events = units.count(sum(numbers.by_kind.values()))
    out.print(
        Text(f"{_time(numbers.microseconds)}{steps}, {events} events in {len(numbers.lanes)} lanes", style="bold")
    )
    every = sum(numbers.device_microseconds.values())
    for kind, time in sorted(numbers.device_microseconds.items(), key=lambda each: -each[1]):
        out.print(Text(f"  {kind}: {_time(time)}, {units.share(time / every if every else None)} of time on devices"))
    if not numbers.device_microseconds:
        out.print(Text("  no device has recorded anything: none is live, or its SDK doesn't record for torch.profiler"))
    _table(out, "fell back to the CPU", numbers.fallbacks)
    for file in numbers.files:
        how = "open it in a browser" if file.endswith((".html", ".htm")) else "open it in ui.perfetto.dev"
        out.print(Text(f"written: {file} ({how})"))


def _table(out: Console, title: str, rows: tuple[OpTime, ...]) -> None:
    if not rows:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(title, overflow="fold")
    for column in ("calls", "time", "bytes"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(row.op, units.count(row.calls), _time(row.microseconds), units.size(row.bytes))
    out.print(table)


def _time(microseconds: float) -> str:
    return units.duration(round(microseconds * 1e3))
