"""The report as a page: one file, nothing is loaded from anywhere."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelplug.reporting import charts, text, units
from accelplug.reporting.templates import in_script, render, require_plots

if TYPE_CHECKING:
    from accelplug.specs import FallbackReport

TEMPLATE = Path(__file__).with_name("page.html.j2")


def made(report: FallbackReport) -> str:
    """The page. Raises AccelplugError where jinja2 or plotly isn't installed."""
    require_plots()
    from plotly.offline import get_plotlyjs

    measures = charts.measured(report)
    figures = {
        measure: {"bars": charts.bars(report, measure), "tree": charts.tree(report, measure)} for measure in measures
    }
    return render(
        TEMPLATE,
        report=report,
        headline=text.headline(report),
        facts=text.facts(report),
        cards=_cards(report),
        measures=measures,
        figures=in_script(figures),
        plotly=get_plotlyjs() if measures else "",
        rows=[_row(row) for row in report.rows],
    )


def _cards(report: FallbackReport) -> list[dict[str, str]]:
    """The numbers at the top: a label, a value, and what it means."""
    ops = len({row.op for row in report.rows})
    share = report.native_share
    cards = [
        {"label": "ran on the device", "value": units.share(share), "note": "of all calls"},
        {
            "label": "operators fell back",
            "value": units.count(ops if report.counted else None),
            "note": f"{units.count(_calls(report))} calls",
        },
        {
            "label": "would be moved",
            "value": units.size(report.bytes if any(row.bytes is not None for row in report.rows) else None),
            "note": "by hardware, at most",
        },
        {
            "label": "time on the CPU",
            "value": units.duration(report.nanoseconds if report.nanoseconds else None),
            "note": "of eager calls" if report.nanoseconds else "not measured",
        },
    ]
    if (moved := report.transfers) is not None:
        cards.append(
            {
                "label": "copied to and from",
                "value": units.size(moved.to_device_bytes + moved.to_host_bytes),
                "note": f"{units.count(moved.to_device_calls + moved.to_host_calls)} copies, the program's own",
            }
        )
    seconds = round(report.seconds) if report.seconds >= 60 else report.seconds
    lasted = str(timedelta(seconds=seconds)) if report.seconds >= 60 else f"{report.seconds:.1f} s"
    cards.append({"label": "since the last reset", "value": lasted, "note": f"process {report.process}"})
    return cards


def _calls(report: FallbackReport) -> int | None:
    return report.calls if any(row.calls is not None for row in report.rows) else None


def _row(row: Any) -> list[dict[str, Any]]:
    """The cells of one line: what is shown, and what it is sorted by."""
    sort = [row.op, row.calls, row.bytes, row.nanoseconds, row.device, row.compiled, row.site, row.reason]
    shown = text.cells(row)
    return [
        {"text": cell, "sort": -1 if key is None else int(key) if isinstance(key, bool) else key, "number": 0 < i < 4}
        for i, (cell, key) in enumerate(zip(shown, sort, strict=True))
    ]
