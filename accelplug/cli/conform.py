"""``accelplug conform``: examines a device, shows a table, and writes the report as JSON or HTML."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from accelplug import conformance
from accelplug.cli import render_conformance as render
from accelplug.cli.options import JsonOption, complete_device
from accelplug.cli.render import console
from accelplug.cli.said import warnings_said
from accelplug.conformance import ConformanceReport
from accelplug.conformance.areas import names
from accelplug.errors import BadInputError


def complete_name(incomplete: str) -> list[str]:
    """Backends for what is being typed; no backend is imported."""
    return [name for name in complete_device(incomplete) if name != "auto" and "," not in name]


def complete_area(incomplete: str) -> list[str]:
    """Areas for what is being typed."""
    return [name for name in names() if name.startswith(incomplete)]


def conform(
    name: Annotated[
        str, typer.Argument(help="The backend: cpu, neuron, …", autocompletion=complete_name, show_default=False)
    ],
    area: Annotated[
        list[str] | None,
        typer.Option(help="Only this area; may be given again.", autocompletion=complete_area, show_default=False),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only checks of this name, or a pattern: 'nn.functional.*'.", show_default=False),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A sample of the checks, in seconds.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write a page to this file.", show_default=False)] = None,
    as_json: JsonOption = False,
) -> None:
    """Examine a backend and its device: what of PyTorch works, area by area, and why the rest doesn't.

    Exits with 1 where a check failed or the device can't be used, with 2 where there is no such backend or area.

    Examples:

        accelplug conform neuron

        accelplug conform neuron --quick --html report.html

        accelplug conform neuron --area ops --only 'nn.functional.*' --json

        ACCELPLUG_SIMULATE=spyre accelplug conform spyre
    """
    if html is not None:
        _check_writable(html)
    with warnings_said(), render.Progress() as progress:
        report = conformance.run(name, areas=area or (), only=only or (), quick=quick, progress=progress.advance)
    if html is not None:
        html.write_text(_page(report), encoding="utf-8")
    if as_json:
        typer.echo(report.model_dump_json(indent=2))
    else:
        render.report(console(), report)
        if html is not None:
            typer.echo(f"\nthe page is {html}")
    raise typer.Exit(0 if report.ok else 1)


def _check_writable(html: Path) -> None:
    """Raises BadInputError before minutes of work, not after."""
    if find_spec("jinja2") is None:
        raise BadInputError("--html needs the package jinja2: pip install 'accelplug[conform]'")
    if not html.absolute().parent.is_dir():
        raise BadInputError(f"--html {html}: there is no folder {html.absolute().parent}")


def _page(report: ConformanceReport) -> str:
    from accelplug.conformance.page import page  # jinja2 is an extra

    return page(report)
