"""Options that several commands share, and the completion of device names."""

from __future__ import annotations

from typing import Annotated

import typer

JSON = "accelplug.json"
ASKED_BY = "--device"  # what reports call a device that was asked for here


def complete_backend(incomplete: str) -> list[str]:
    """Backends for what is being typed: from entry points, so none is imported."""
    from accelplug.entry_points import of_group
    from accelplug.hookspecs import ENTRY_POINTS

    names = dict.fromkeys(entry_point.name for entry_point in of_group(ENTRY_POINTS))
    return [name for name in names if name.startswith(incomplete)]


def complete_backends(incomplete: str) -> list[str]:
    """The same, also after a comma, for those that aren't given yet."""
    before, comma, last = incomplete.rpartition(",")
    given = before.split(",")
    return [before + comma + name for name in complete_backend(last) if name not in given]


def complete_device(incomplete: str) -> list[str]:
    """Backends, also several; or auto, by itself."""
    return [*(["auto"] if "auto".startswith(incomplete) else []), *complete_backends(incomplete)]


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
