"""How an error ends a command: one clean message, as JSON too where that was asked for."""

from __future__ import annotations

import typer

from accelplug.cli.options import JSON
from accelplug.errors import AccelplugError
from accelplug.specs import Record


class Failure(Record):
    """What ``--json`` prints where there is nothing else to print."""

    error: str
    exit_code: int


def end(context: typer.Context, error: AccelplugError) -> typer.Exit:
    """Says the error and returns the exit to raise."""
    if context.meta.get(JSON):
        typer.echo(Failure(error=str(error), exit_code=error.exit_code).model_dump_json(indent=2))
    typer.echo(f"accelplug: {error}", err=True)
    return typer.Exit(error.exit_code)
