"""The plots of the page, as Plotly's JSON. Their colours are set by the page, which knows light from dark."""

from __future__ import annotations

from typing import Any

from accelplug.bench import analysis
from accelplug.bench.records import Bench, DeviceBench, Measured, Roofline
from accelplug.reporting import units

HEIGHT = 30  # pixels for a row
NAMED = 7  # parts of a bar that have a colour of their own; the others share one


def shares(bench: Bench, step: str) -> dict[str, Any]:
    """For each workload of a step, how much of its limit each device reaches: dots on a line of their own."""
    names = [name for of, name in bench.workloads if of == step]
    data = []
    for device in bench.devices:
        found = [each for each in _ran(device) if each.step == step]
        assert device.roofline is not None, "a device without limits has nothing measured"
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": label(device),
                "x": [100 * analysis.share(each, device.roofline) for each in found],
                "y": [each.name for each in found],
                "marker": {"size": 11, "symbol": ["x" if each.fell_back else "circle" for each in found]},
                "customdata": [[_said(each, device.roofline)] for each in found],
                "hovertemplate": "%{y}<br>%{customdata[0]}<extra>" + label(device) + "</extra>",
            }
        )
    return {
        "data": data,
        "layout": {
            "height": 110 + HEIGHT * len(names),
            "xaxis": {"type": "log", "title": {"text": "% of the device's own limit"}, "dtick": 1},
            "yaxis": {
                "categoryorder": "array",
                "categoryarray": names[::-1],
                "automargin": True,
                "range": [-0.6, len(names) - 0.4],
            },
            "shapes": [
                {"type": "line", "x0": 100, "x1": 100, "yref": "paper", "y0": 0, "y1": 1, "line": {"dash": "dot"}}
            ],
        },
    }


def times(bench: Bench, step: str) -> dict[str, Any]:
    """Where a step's time goes: a bar for each device, of what its operators take together."""
    names = [name for of, name in bench.workloads if of == step]
    spent = {name: [_milliseconds(device.get((step, name))) for device in bench.devices] for name in names}
    most = sorted((name for name in names if any(spent[name])), key=lambda name: -max(spent[name]))
    bars = {name: spent[name] for name in most[:NAMED]}
    if rest := most[NAMED:]:
        bars[f"{len(rest)} others"] = [sum(values) for values in zip(*(spent[name] for name in rest), strict=True)]
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "y": [label(device) for device in bench.devices],
            "x": values,
            "hovertemplate": name + "<br>%{x:.3g} ms a step<extra>%{y}</extra>",
        }
        for name, values in bars.items()
    ]
    return {
        "data": data,
        "layout": {
            "barmode": "stack",
            "height": 150 + 46 * len(bench.devices),
            "xaxis": {"rangemode": "tozero", "ticksuffix": " ms"},
            "yaxis": {"autorange": "reversed", "automargin": True, "ticksuffix": "  "},
        },
    }


def _milliseconds(measured: Measured | None) -> float:
    """Of an operator in a step; a layer is made of operators and counts for nothing."""
    if measured is None or measured.error or measured.kind != "operator":
        return 0.0
    return 1e3 * measured.per_step * measured.seconds


def roof(device: DeviceBench) -> dict[str, Any]:
    """The roofline of a device, with each workload below it: operations a second over operations a byte."""
    assert device.roofline is not None, "a device without limits has nothing measured"
    found = [each for each in _ran(device) if each.flops]
    memory, compute = device.roofline.bytes_per_second, device.roofline.flops_per_second
    intensities = [each.flops / each.bytes for each in found]
    ridge = compute / memory
    left, right = min([*intensities, ridge]) / 2, max([*intensities, ridge]) * 2
    steps = [*dict.fromkeys(each.step for each in found)]
    lines = {
        "type": "scatter",
        "mode": "lines",
        "name": "limit",
        "x": [left, ridge, right],
        "y": [left * memory / 1e9, compute / 1e9, compute / 1e9],
        "hoverinfo": "skip",
    }
    dots = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": step,
            "x": [each.flops / each.bytes for each in found if each.step == step],
            "y": [each.flops / each.seconds / 1e9 for each in found if each.step == step],
            "marker": {"size": 9},
            "customdata": [[each.name, _said(each, device.roofline)] for each in found if each.step == step],
            "hovertemplate": "%{customdata[0]}<br>%{customdata[1]}<extra>" + step + "</extra>",
        }
        for step in steps
    ]
    return {
        "data": [lines, *dots],
        "layout": {
            "height": 380,
            "xaxis": {"type": "log", "title": {"text": "operations a byte"}, "dtick": 1},
            "yaxis": {"type": "log", "title": {"text": "Gflop/s"}, "dtick": 1},
        },
    }


def label(device: DeviceBench) -> str:
    """The device's name, and whether it is simulated."""
    return f"{device.device} (simulated)" if device.simulated else device.device


def _ran(device: DeviceBench) -> list[Measured]:
    return [each for each in device.measured if not each.error]


def _said(measured: Measured, roofline: Roofline) -> str:
    said = (
        f"{units.duration(round(measured.seconds * 1e9))} a call, {analysis.share(measured, roofline):.1%} of the "
        f"{analysis.bound(measured, roofline)} limit"
    )
    return f"{said}<br>on the CPU: {', '.join(measured.fell_back)}" if measured.fell_back else said
