"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from accelplug.cli.app import app


def page() -> str:
    """Every command, with its usage, arguments, options and examples."""
    group: Any = typer.main.get_command(app)
    context = group.make_context("accelplug", ["--help"], resilient_parsing=True)
    intro = (
        "Exit status: 0 fine; 1 the device that was asked for is not usable, or something is wrong; 2 bad input. "
        "What `--json` prints: [JSON](json.md)."
    )
    parts = ["# Command line", intro]
    for name in group.list_commands(context):
        parts += [f"## accelplug {name}", *_command(name, group.get_command(context, name))]
    return "\n\n".join(parts)


def _command(name: str, command: Any) -> Iterator[str]:
    said, _, examples = (command.help or "").partition("Examples:")
    yield re.sub(r"\\\[", "[", said).strip()
    parameters = [each for each in command.params if each.name != "help"]
    arguments = [each.metavar or each.name.upper() for each in parameters if each.param_type_name == "argument"]
    yield "```text\n" + " ".join(["accelplug", name, *arguments, "[OPTIONS]"]) + "\n```"
    if parameters:
        rows = [f"| {_names(each)} | {_cell(each.help or '')} |" for each in parameters]
        yield "\n".join(["| option | meaning |", "|---|---|", *rows])
    lines = [line.strip() for line in examples.splitlines() if line.strip()]
    if lines:
        yield "\n".join(["```console", *(f"$ {line}" for line in lines), "```"])


def _names(parameter: Any) -> str:
    value = parameter.metavar or parameter.name.upper()
    if parameter.param_type_name == "argument":
        return f"`{_cell(value)}`"
    return ", ".join(f"`{name}`" if parameter.is_flag else f"`{name} {_cell(value)}`" for name in parameter.opts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
