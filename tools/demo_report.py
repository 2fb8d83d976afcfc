"""What the demo's server did since it started, of its metrics: where it ran, what fell back, which buckets."""

from __future__ import annotations

from collections.abc import Sequence

from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from accelplug.cli.render_top import copies
from accelplug.reporting import units
from accelplug.servers.exposition import Samples
from accelplug.servers.status import ServerStatus, status

LISTED = 6  # of each kind; the rest is counted


def since_start(url: str, now: Samples, seconds: float) -> ServerStatus:
    """The status of a server that started ``seconds`` ago: rates are those of its whole life."""
    return status(url, Samples(iter(())), now, seconds)


def panel(now: ServerStatus) -> Panel:
    """What `since_start` gives, for a terminal. What the device's SDK doesn't count isn't in there."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, said in _rows(now):
        table.add_row(label, said)
    title = Text(now.device or "vLLM", style="bold")
    if now.simulated:
        title.append(" (simulated)", style="yellow")
    return Panel(table, title=title, title_align="left", border_style="dim", expand=False)


def _rows(now: ServerStatus) -> list[tuple[str, str | Text]]:
    rows: list[tuple[str, str | Text]] = [("decided by", now.decided_by or units.UNKNOWN)]
    if now.simulated:
        rows.append(("speed", "this machine's, not a chip's"))
    if now.native_calls is None:
        return [*rows, ("ran on it", "all of it")]
    calls = sum(row.calls for row in now.kernels)
    share = f"{units.share(now.native_share)} of calls"
    rows.append(("ran natively", f"{share}: {units.count(now.native_calls)}, and {units.count(calls)} by kernels"))
    if now.kernels:
        rows.append(("kernels", _listed([f"{row.kernel} {units.count(row.calls)}" for row in now.kernels])))
    fell = [f"{row.op} {units.count(row.calls)}" for row in now.fallbacks]
    rows.append(("fell back", Text(_listed(fell), style="yellow") if fell else "nothing"))
    if now.buckets:
        used = [f"{row.bucket} × {units.count(row.hits)}" for row in now.buckets]
        rows.append(("buckets", f"{_listed(used)} steps; {units.share(now.padding_share)} of their tokens are padding"))
    rows.append(("copies a step", f"{copies(now)}, in {units.count(now.steps)} steps"))
    return rows


def _listed(rows: Sequence[str]) -> str:
    more = [f"… {len(rows) - LISTED} more"] if len(rows) > LISTED else []
    return " · ".join([*rows[:LISTED], *more])
