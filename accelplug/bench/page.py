"""A run as a page: one file, nothing is loaded from anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from accelplug.bench import analysis, charts
from accelplug.bench.records import Bench, DeviceBench, Measured
from accelplug.reporting import units
from accelplug.reporting.templates import in_script, render, require_plots

TEMPLATE = Path(__file__).with_name("page.html.j2")


def page(bench: Bench) -> str:
    """The page. Raises AccelplugError where jinja2 or plotly isn't installed."""
    require_plots()
    from plotly.offline import get_plotlyjs

    steps = list(dict.fromkeys(step for step, _ in bench.workloads))
    figures = {
        "shares": {step: charts.shares(bench, step) for step in steps},
        "times": {step: charts.times(bench, step) for step in steps},
        "roofs": {device.device: charts.roof(device) for device in bench.devices},
    }
    return render(
        TEMPLATE,
        bench=bench,
        steps=steps,
        devices=[_device(device) for device in bench.devices],
        simulated=[device.device for device in bench.devices if device.simulated],
        rows=[_row(bench, key) for key in bench.workloads],
        labels=[charts.label(device) for device in bench.devices],
        figures=in_script(figures),
        plotly=get_plotlyjs(),
    )


def _device(device: DeviceBench) -> dict[str, Any]:
    roofline, served = device.roofline, device.serving
    return {
        "name": device.device,
        "label": charts.label(device),
        "backend": device.backend,
        "copies": f"{roofline.bytes_per_second / 1e9:,.1f} GB/s" if roofline else units.UNKNOWN,
        "multiplies": f"{roofline.flops_per_second / 1e12:,.3f} Tflop/s" if roofline else units.UNKNOWN,
        "calls": units.duration(round(roofline.call_seconds * 1e9)) if roofline else units.UNKNOWN,
        "serving": f"{served.tokens_per_second:,.0f} tokens/s" if served and not served.error else "",
        "served_by": served.by if served else "",
        "serving_error": served.error if served else "",
        "advice": [{**vars(each), "gain": f"{each.gain:.0%}"} for each in analysis.advice(device)],
    }


def _row(bench: Bench, key: tuple[str, str]) -> dict[str, Any]:
    quickest = analysis.best(bench, key)
    return {
        "step": key[0],
        "name": key[1],
        "cells": [_cell(device, device.get(key), quickest) for device in bench.devices],
    }


def _cell(device: DeviceBench, measured: Measured | None, quickest: float | None) -> dict[str, Any]:
    if measured is None or measured.error or device.roofline is None:
        return {"time": units.UNKNOWN, "note": measured.error if measured else "not measured", "kind": "error"}
    share = analysis.share(measured, device.roofline)
    notes = [f"{share:.0%} of the {analysis.bound(measured, device.roofline)} limit"]
    if quickest is not None and measured.seconds > quickest:
        notes.append(f"{measured.seconds / quickest:.1f} × the best")
    notes += [f"on the CPU: {', '.join(measured.fell_back)}"] if measured.fell_back else []
    notes += [f"kernel {', '.join(measured.kernels)}"] if measured.kernels else []
    kind = "fallback" if measured.fell_back else "best" if measured.seconds == quickest else ""
    return {"time": units.duration(round(measured.seconds * 1e9)), "note": "; ".join(notes), "kind": kind}
