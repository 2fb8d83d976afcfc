"""A server's status on a terminal of any width from 60 columns on."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from accelplug.reporting import units
from accelplug.servers.status import ServerStatus

BAR = 20  # columns
LABEL = 13  # columns
FIXED = 19  # lines that are not operators which fall back
ROWS = 10  # of those, where the height isn't known
LISTED = 8  # kernels, and buckets


def waiting(url: str, interval: float) -> Text:
    """Before the first look."""
    return Text(f"{url}: rates come after {interval:g} s …")


def gone(why: str) -> Text:
    """Where the server has stopped answering."""
    return Text(why, style="bold red").append("\nwaiting for it; Ctrl-C ends this", style="not bold")


def view(now: ServerStatus, width: int, height: int | None = None) -> Group:
    """All of it: what it is, requests and tokens, what ran where, kernels, buckets, what falls back."""
    parts: list[RenderableType] = [_headline(now), Text(), _serving(now, width), Text(), _running(now, width)]
    if now.kernels or now.buckets:
        parts += [Text(), _lists(now)]
    if now.fallbacks:
        parts += [Text(), _fallbacks(now, ROWS if height is None else max(height - FIXED, 3))]
    return Group(*parts)


def _headline(now: ServerStatus) -> Text:
    said = Text(now.url, style="bold")
    if now.models:
        said.append(f"  {', '.join(now.models)}", style="not bold")
    said.append("\n")
    if now.device is None:
        return said.append("this vLLM runs without accelplug: no device, fallbacks, kernels or buckets", style="yellow")
    said.append(now.device, style="bold")
    if now.simulated:
        said.append(" (simulated)", style="yellow")
    return said.append(f", decided by {now.decided_by}, accelplug {now.version}", style="not bold")


def _serving(now: ServerStatus, width: int) -> Table:
    table = _pairs(width)
    table.add_row("generated", f"{_rate(now.generation_tokens_per_second)} tokens/s", "running", _number(now.running))
    table.add_row("prompt", f"{_rate(now.prompt_tokens_per_second)} tokens/s", "waiting", _number(now.waiting))
    table.add_row("KV cache", _bar(now.kv_cache_usage, full_is_bad=True), "", "")
    return table


def _running(now: ServerStatus, width: int) -> Table:
    compiles = _number(now.compiles)
    if now.compiles_in_service:
        compiles += f", {units.count(now.compiles_in_service)} in service"
    table = _pairs(width)
    table.add_row("native calls", _bar(now.native_share), "steps", _number(now.steps))
    table.add_row("padding", units.share(now.padding_share), "compiles", compiles)
    table.add_row("copies a step", copies(now), "", "")
    return table


def copies(now: ServerStatus) -> str:
    """Between host and device, in a step."""
    if now.to_device_per_step is None or now.to_host_per_step is None:
        return units.UNKNOWN
    return f"{now.to_device_per_step:.1f} to the device, {now.to_host_per_step:.1f} back"


def _pairs(width: int) -> Table:
    """Two labels with their values in a line."""
    table = Table.grid(padding=(0, 2), expand=False)
    table.add_column(style="dim", no_wrap=True, min_width=LABEL)
    table.add_column(no_wrap=True, min_width=min(32, width // 3))
    table.add_column(style="dim", no_wrap=True, min_width=9)
    table.add_column(no_wrap=True)
    return table


def _lists(now: ServerStatus) -> Group:
    """Kernels with their calls and buckets with their hits, each in a line."""
    lines = []
    if now.kernels:
        lines.append(_line("kernels", [(row.kernel, row.calls) for row in now.kernels]))
    if now.buckets:
        lines.append(_line("buckets", [(f"{row.part} {row.bucket}", row.hits) for row in now.buckets]))
    return Group(*lines)


def _line(label: str, rows: Sequence[tuple[str, int]]) -> Text:
    shown = [f"{name} {units.count(number)}" for name, number in rows[:LISTED]]
    rest = [f"… {len(rows) - LISTED} more"] if len(rows) > LISTED else []
    said = Text(f"{label:<{LABEL}}  ", style="dim", no_wrap=True, overflow="ellipsis")
    return said.append(" · ".join([*shown, *rest]), style="not dim")


def _fallbacks(now: ServerStatus, most: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("falls back to the CPU", overflow="ellipsis", no_wrap=True)
    several = len({row.device for row in now.fallbacks}) > 1
    if several:
        table.add_column("device", no_wrap=True)
    for column in ("bytes", "bytes/s", "calls", "calls/s"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in now.fallbacks[:most]:
        numbers = (
            units.size(row.bytes),
            units.size(round(row.bytes_per_second)),
            units.count(row.calls),
            _rate(row.calls_per_second),
        )
        table.add_row(row.op, *((row.device,) if several else ()), *numbers)
    if len(now.fallbacks) > most:
        table.add_row(Text(f"… {len(now.fallbacks) - most} more", style="dim"))
    return table


def _bar(share: float | None, full_is_bad: bool = False) -> Text:
    if share is None:
        return Text(units.UNKNOWN)
    filled = round(share * BAR)
    style = "red" if full_is_bad and share > 0.9 else "green"
    return (
        Text("█" * filled, style=style)
        .append("░" * (BAR - filled), style="dim")
        .append(f" {units.share(share)}", "default")
    )


def _rate(number: float | None) -> str:
    if number is None:
        return units.UNKNOWN
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}"


def _number(number: int | None) -> str:
    return units.count(number)
