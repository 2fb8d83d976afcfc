"""A benchmark run on a terminal, and the change since another."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from accelplug.bench import analysis
from accelplug.bench.comparing import BenchComparison
from accelplug.bench.records import Bench, DeviceBench, Measured
from accelplug.reporting import units

VERDICTS = {"slower": "bold red", "broken": "bold red", "quicker": "green", "runs now": "green", "same": "dim"}


def bench(out: Console, found: Bench) -> None:
    """The devices and their limits, each workload on each, then what to do next."""
    setup = found.setup
    out.print(Text(f"{setup.model.name} in {setup.dtype}, torch {setup.torch}", style="bold"))
    for device in found.devices:
        out.print(_limits(device))
    simulated = [device.device for device in found.devices if device.simulated]
    if simulated:
        text = f"{', '.join(simulated)}: simulated, so these are times of the CPU under it and not of hardware"
        out.print(Text(text, style="yellow"))
    out.print()
    out.print(_table(found))
    for device in found.devices:
        _advice(out, device)


def _limits(device: DeviceBench) -> Text:
    said = Text(device.device, style="bold")
    if device.roofline is not None:
        said.append(
            f": copies {device.roofline.bytes_per_second / 1e9:,.1f} GB/s, multiplies "
            f"{device.roofline.flops_per_second / 1e12:,.3f} Tflop/s, the smallest call "
            f"{_time(device.roofline.call_seconds)}",
            style="not bold",
        )
    if device.serving is not None:
        served = device.serving
        text = f"can't serve: {served.error}" if served.error else f"serves {served.tokens_per_second:,.0f} tokens/s"
        by = f", by {served.by}" if served.by else ""
        said.append(f", {text}{by}", style="not bold red" if served.error else "not bold")
    return said


def _table(found: Bench) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("workload", no_wrap=True)
    for device in found.devices:
        table.add_column(device.device, justify="right", no_wrap=True)
        table.add_column("of its limit", justify="right", no_wrap=True)
    step = ""
    for key in found.workloads:
        if key[0] != step:
            step = key[0]
            table.add_row(Text(step, style="bold"))
        quickest = analysis.best(found, key)
        cells = [cell for device in found.devices for cell in _cells(device, device.get(key), quickest)]
        table.add_row(f"  {key[1]}", *cells)
    return table


def _cells(device: DeviceBench, measured: Measured | None, quickest: float | None) -> tuple[Text, Text]:
    if measured is None or device.roofline is None:
        return Text(units.UNKNOWN, style="dim"), Text()
    if measured.error:
        return Text("can't", style="bold red"), Text()
    style = "yellow" if measured.fell_back else "green" if measured.seconds == quickest else ""
    share = Text(f"{analysis.share(measured, device.roofline):.0%}")
    return Text(_time(measured.seconds) + ("*" if measured.fell_back else ""), style=style), share


def _advice(out: Console, device: DeviceBench) -> None:
    found = analysis.advice(device)
    fell_back = any(each.fell_back for each in device.measured)
    if fell_back:
        out.print(Text(f"* on {device.device}, something of it ran on the CPU: --json names it", style="yellow"))
    if not found:
        return
    out.print()
    out.print(Text(f"{device.device}: what to do next", style="bold"))
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for each in found:
        table.add_row(
            f"{each.gain:.0%}",
            Text.assemble((each.name, "bold"), (f" ({each.step})", "dim"), f": {each.found}; {each.what}"),
        )
    out.print(table)


def comparison(out: Console, found: BenchComparison) -> None:
    """What changed, most first, and a line on the rest."""
    for text in found.other:
        out.print(Text(text, style="yellow"))
    changed = [change for change in found.changes if change.verdict != "same"]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in ("device", "step", "workload"):
        table.add_column(column)
    for column in ("before", "now", "ratio"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("")
    for change in sorted(changed, key=lambda change: -change.ratio):
        table.add_row(
            *(change.device, change.step, change.name),
            *(_time(change.before), _time(change.now), f"{change.ratio:.2f}" if change.ratio else units.UNKNOWN),
            Text(change.verdict, style=VERDICTS[change.verdict]),
        )
    if changed:
        out.print(table)
    same = len(found.changes) - len(changed)
    out.print(
        Text(f"{len(found.changes)} workloads compared, {same} the same, {len(found.slower)} slower", style="bold")
    )


def _time(seconds: float) -> str:
    return units.duration(round(seconds * 1e9)) if seconds else units.UNKNOWN
