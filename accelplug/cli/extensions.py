"""Commands of other packages, from the entry-point group ``accelplug.commands``: name → typer command function.

One is imported when it is used or listed, not before. One that can't be imported says so in its place; the others work.
A function that takes a `typer.Context` gets the arguments it does not declare in ``context.args``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint
from typing import Any

import typer
from typer.core import TyperGroup

from accelplug.cli.failures import end
from accelplug.entry_points import of_group, origin
from accelplug.errors import AccelplugError

ENTRY_POINTS = "accelplug.commands"
PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True}


class Commands(TyperGroup):
    """accelplug's own commands, then those of other packages. A name of its own can't be taken over."""

    def list_commands(self, ctx: Any) -> list[str]:
        others = (entry_point.name for entry_point in of_group(ENTRY_POINTS))
        return [*dict.fromkeys([*super().list_commands(ctx), *others])]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        own = super().get_command(ctx, cmd_name)
        found = [entry_point for entry_point in of_group(ENTRY_POINTS) if entry_point.name == cmd_name]
        if own is not None or not found:
            return own
        command = _command(cmd_name, found)
        self.add_command(command, cmd_name)
        return command

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except AccelplugError as error:
            raise end(ctx, error) from None


def _command(name: str, found: Sequence[EntryPoint]) -> Any:
    """The loaded command, or one in its place that says why there is none."""
    origins = " and ".join(map(origin, found))
    if len(found) > 1:
        return _as_command(name, _unavailable(f"provided by {origins}: uninstall one of them"))
    (entry_point,) = found
    try:
        return _as_command(name, entry_point.load())
    except Exception as error:
        why = f"from {origins}, can't be loaded: {type(error).__name__}: {error}"
        return _as_command(name, _unavailable(why))


def _as_command(name: str, function: Callable[..., None]) -> Any:
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    passes_on = any(parameter.annotation is typer.Context for parameter in parameters)
    single = typer.Typer(add_completion=False, rich_markup_mode="rich")
    single.command(name, context_settings=PASS_ON if passes_on else None)(function)
    return typer.main.get_command(single)


def _unavailable(why: str) -> Callable[..., None]:
    def unavailable(context: typer.Context) -> None:
        raise AccelplugError(f"the command {context.info_name!r}, {why}")

    unavailable.__doc__ = f"Not available: {why}".replace("[", r"\[")
    return unavailable
