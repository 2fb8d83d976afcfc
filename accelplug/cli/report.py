"""``accelplug report``: shows a fallback report that a process has saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from accelplug.cli.files import require_folders
from accelplug.cli.options import JsonOption
from accelplug.specs import FallbackReport


def report(
    file: Annotated[
        Path, typer.Argument(help="The saved report: what ACCELPLUG_REPORT named.", metavar="FILE", show_default=False)
    ],
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Write a page with plots to this file.", metavar="FILE", show_default=False),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what fell back from the device to the CPU in a run, from its saved report.

    Exits with 2 where the file can't be read, or is no such report.

    Examples:

        ACCELPLUG_REPORT=run.json python train.py

        accelplug report run.json

        accelplug report run.json --html run.html

        accelplug report run.json --json
    """
    require_folders(html=html)
    saved = FallbackReport.load(file)
    if html is not None:
        saved.html(html)
        typer.echo(f"written to {html}", err=True)
    if as_json:
        typer.echo(saved.model_dump_json(indent=2))
    elif html is None:
        typer.echo(str(saved))
