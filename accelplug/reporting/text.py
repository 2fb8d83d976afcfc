"""The report as an aligned table, and as one for a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from accelplug.reporting import units

if TYPE_CHECKING:
    from accelplug.specs import FallbackReport, FallbackRow, StepTransfers

COLUMNS = ("op", "calls", "bytes", "time", "device", "where", "first called at", "reason")
NUMBERS = range(1, 4)  # the columns that are aligned to the right


def headline(report: FallbackReport) -> str:
    """The report in a line."""
    what = f"{report.device}{' (simulated)' if report.simulated else ''}"
    if not report.counted:
        return f"{what}: fallbacks are not counted"
    if not report.rows:
        return f"{what}: nothing fell back to the CPU in {report.seconds:.1f} s"
    ops = len({row.op for row in report.rows})
    parts = [f"{ops} op{'s' * (ops > 1)} fell back to the CPU"]
    if any(row.calls is not None for row in report.rows):
        parts.append(f"{units.count(report.calls)} call{'s' * (report.calls != 1)}")
    if any(row.bytes is not None for row in report.rows):
        parts.append(f"{units.size(report.bytes)} that hardware would move")
    if any(row.nanoseconds is not None for row in report.rows):
        parts.append(units.duration(report.nanoseconds))
    if report.native_share is not None:
        parts.append(f"{units.share(report.native_share)} of calls native")
    return f"{what}: {', '.join(parts)}, in {report.seconds:.1f} s"


def facts(report: FallbackReport) -> list[str]:
    """The lines under the table."""
    lines = [f"policy {report.policy}" + (f", budgets {', '.join(report.budgets)}" if report.budgets else "")]
    if (moved := report.transfers) is not None:
        lines.append(
            f"copies: {units.count(moved.to_device_calls)} to the device ({units.size(moved.to_device_bytes)}), "
            f"{units.count(moved.to_host_calls)} to the host ({units.size(moved.to_host_bytes)}), "
            f"{units.count(moved.within_calls)} within ({units.size(moved.within_bytes)})"
        )
    if report.steps is not None:
        lines.append(steps(report.steps))
    if report.kernels:
        ran = (f"{kernel.kernel} {units.count(kernel.calls)} of {kernel.op}" for kernel in report.kernels)
        lines.append(f"calls that kernels took, besides: {', '.join(ran)}")
    lines += [f"{layer}: {', then '.join(runs)}" for layer, runs in report.implementations.items()]
    return [*lines, *report.notes]


def steps(moved: StepTransfers) -> str:
    """What a step copies between host and device, on average."""

    def each(calls: int, size: int) -> str:
        return f"{calls / moved.steps:.1f} copies ({units.size(round(size / moved.steps))})"

    return (
        f"a step, of {units.count(moved.steps)}: {each(moved.to_device_calls, moved.to_device_bytes)} to the device, "
        f"{each(moved.to_host_calls, moved.to_host_bytes)} to the host"
    )


def cells(row: FallbackRow) -> tuple[str, ...]:
    """One line of the table, as the columns say."""
    return (
        row.op,
        units.count(row.calls),
        units.size(row.bytes),
        units.duration(row.nanoseconds),
        units.count(row.device),
        "compiled" if row.compiled else "eager",
        row.site or units.UNKNOWN,
        row.reason,
    )


def table(report: FallbackReport) -> str:
    """Headline, table, facts."""
    blocks = [headline(report)]
    if report.rows:
        rows = [COLUMNS, *map(cells, report.rows)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
        blocks.append("\n".join(_aligned(row, widths) for row in rows))
    return "\n\n".join([*blocks, "\n".join(facts(report))])


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    parts = [cell.rjust(widths[i]) if i in NUMBERS else cell.ljust(widths[i]) for i, cell in enumerate(row)]
    return "  ".join(parts).rstrip()


def notebook(report: FallbackReport) -> str:
    """The same as HTML for a notebook."""

    def line(row: tuple[str, ...], tag: str) -> str:
        side = [("right" if i in NUMBERS else "left", escape(cell)) for i, cell in enumerate(row)]
        return "<tr>" + "".join(f"<{tag} style='text-align:{align}'>{cell}</{tag}>" for align, cell in side) + "</tr>"

    body = "".join(line(cells(row), "td") for row in report.rows)
    shown = f"<table><thead>{line(COLUMNS, 'th')}</thead><tbody>{body}</tbody></table>" if report.rows else ""
    below = "<br>".join(map(escape, facts(report)))
    return f"<p><b>{escape(headline(report))}</b></p>{shown}<p>{below}</p>"
