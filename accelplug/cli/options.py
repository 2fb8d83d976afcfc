"""Options that several commands share, and the completion of device names."""

from __future__ import annotations

from typing import Annotated

import typer

JSON = "accelplug.json"


def complete_device(incomplete: str) -> list[str]:
    """Names for what is being typed, also after a comma: from entry points, so no backend is imported."""
    from accelplug.entry_points import of_group
    from accelplug.hookspecs import ENTRY_POINTS

    before, comma, last = incomplete.rpartition(",")
    given = before.split(",")
    names = [name for name in dict.fromkeys(each.name for each in of_group(ENTRY_POINTS)) if name not in given]
    return [before + comma + name for name in (names if comma else ["auto", *names]) if name.startswith(last)]


def _remember_json(context: typer.Context, value: bool) -> bool:
    context.meta[JSON] = value
    return value


DeviceOption = Annotated[
    str | None,
    typer.Option(
        help="Ask for this device: auto, a name, or names in order of preference.",
        metavar="NAME[,NAME…]",
        autocompletion=complete_device,
        show_default=False,
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option(
        "--json", help="Print JSON (schema: docs/reference/cli-schema.json).", callback=_remember_json, is_eager=True
    ),
]
