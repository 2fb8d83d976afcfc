"""The plots of the page, as Plotly's JSON. Their colours are set by the page, which knows light from dark."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from accelplug.reporting import units

if TYPE_CHECKING:
    from accelplug.specs import FallbackReport, FallbackRow

SHOWN = 15  # bars; the table has all

# What can be plotted: how to get it from a row, and how to say it.
MEASURES: dict[str, tuple[Callable[[FallbackRow], int | None], Callable[[int | None], str]]] = {
    "bytes": (lambda row: row.bytes, units.size),
    "calls": (lambda row: row.calls, units.count),
    "time": (lambda row: row.nanoseconds, units.duration),
}


def measured(report: FallbackReport) -> list[str]:
    """The measures that the report has numbers of."""
    return [name for name, (value, _) in MEASURES.items() if any(value(row) for row in report.rows)]


def bars(report: FallbackReport, measure: str) -> dict[str, Any]:
    """The operators with most of ``measure``, one bar each, eager and compiled side by side in it."""
    value, text = MEASURES[measure]
    totals: dict[str, int] = {}
    for row in report.rows:
        totals[row.op] = totals.get(row.op, 0) + (value(row) or 0)
    most = sorted((op for op in totals if totals[op]), key=lambda op: -totals[op])[:SHOWN]
    data = []
    for compiled, name in ((False, "eager"), (True, "compiled")):
        numbers = [
            sum(value(row) or 0 for row in report.rows if row.op == op and row.compiled is compiled) for op in most
        ]
        if any(numbers):
            data.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": name,
                    "y": [_short(op) for op in most],
                    "x": numbers,
                    "customdata": [[op, text(number)] for op, number in zip(most, numbers, strict=True)],
                    "hovertemplate": "%{customdata[0]}<br>%{customdata[1]}<extra>" + name + "</extra>",
                }
            )
    ticks = _ticks(max(totals.values(), default=0), 1024 if measure == "bytes" else 10)
    return {
        "data": data,
        "layout": {
            "barmode": "stack",
            "height": _height(len(most)),
            "yaxis": {"autorange": "reversed", "automargin": True, "ticks": "", "ticksuffix": "  "},
            "xaxis": {"tickvals": ticks, "ticktext": [text(tick) for tick in ticks], "rangemode": "tozero"},
            "legend": {"orientation": "h", "y": 1, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
            "margin": {"l": 8, "r": 16, "t": 28, "b": 28},
        },
    }


def tree(report: FallbackReport, measure: str) -> dict[str, Any]:
    """A treemap of ``measure``: eager and compiled, and their operators."""
    value, text = MEASURES[measure]
    ids, labels, parents, numbers, said = [], [], [], [], []
    for compiled, name in ((False, "eager"), (True, "compiled")):
        found: dict[str, int] = {}
        for row in report.rows:
            if row.compiled is compiled and value(row):
                found[row.op] = found.get(row.op, 0) + (value(row) or 0)
        if not found:
            continue
        ids += [name, *(f"{name} {op}" for op in found)]
        labels += [name, *map(_short, found)]
        parents += ["", *[name] * len(found)]
        numbers += [sum(found.values()), *found.values()]
        said += [text(sum(found.values())), *map(text, found.values())]
    trace = {
        "type": "treemap",
        "ids": ids,
        "labels": labels,
        "parents": parents,
        "values": numbers,
        "text": said,
        "branchvalues": "total",
        "textinfo": "label+text",
        "hovertemplate": "%{label}<br>%{text}<br>%{percentRoot:.1%}<extra></extra>",
        "tiling": {"pad": 2},
        "pathbar": {"visible": False},
    }
    layout = {
        "height": _height(min(SHOWN, len({row.op for row in report.rows if value(row)}))),
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "uniformtext": {"minsize": 9, "mode": "hide"},
    }
    return {"data": [trace], "layout": layout}


def _height(number: int) -> int:
    """Pixels for so many bars; the treemap beside them is as high."""
    return max(240, 80 + 28 * number)


def _short(op: str) -> str:
    """Without the namespace that nearly all have."""
    return op.removeprefix("aten::")


def _ticks(most: int, base: int) -> list[int]:
    """Round numbers from 0 on, at most four: sizes are said in powers of two, the others in those of ten."""
    if base == 1024:
        step = 1
        while step * 4 < most:
            step *= 2
    else:
        step, factors = 1, itertools.cycle((2, 2.5, 2))
        while step * 4 < most:
            step = int(step * next(factors))
    return [step * number for number in range(4 if most else 1)]
