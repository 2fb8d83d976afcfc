"""``accelplug new``: asks about a chip and writes a package for it."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from pydantic import ValidationError

from accelplug.cli.options import JsonOption
from accelplug.errors import BadInputError
from accelplug.scaffold import Answers, Written, write
from accelplug.scaffold.writing import check_free

FLAGS = {
    "title": "--display-name",
    "sdk": "--sdk",
    "device_node": "--device-node",
    "dtypes": "--dtypes",
    "int64": "--int64, --no-int64",
    "static_shapes": "--static-shapes, --dynamic-shapes",
    "alignment": "--alignment",
    "attention": "--attention",
}
ATTENTION: tuple[str, ...] = get_args(Answers.model_fields["attention"].annotation)


def _asks(field: str) -> str:
    return Answers.model_fields[field].description or ""


def complete_attention(incomplete: str) -> list[str]:
    """What ``--attention`` may be, for what is being typed."""
    return [way for way in ATTENTION if way.startswith(incomplete)]


def new(
    name: Annotated[str, typer.Argument(help=_asks("name"), show_default=False)],
    title: Annotated[str | None, typer.Option("--display-name", help=_asks("title"))] = None,
    sdk: Annotated[str | None, typer.Option(help=_asks("sdk"), metavar="MODULE")] = None,
    device_node: Annotated[str | None, typer.Option(help=_asks("device_node"), metavar="PATH")] = None,
    dtypes: Annotated[str | None, typer.Option(help=_asks("dtypes"), metavar="NAME,NAME…")] = None,
    int64: Annotated[bool | None, typer.Option("--int64/--no-int64", help=_asks("int64"))] = None,
    static_shapes: Annotated[
        bool | None, typer.Option("--static-shapes/--dynamic-shapes", help=_asks("static_shapes"))
    ] = None,
    alignment: Annotated[int | None, typer.Option(help=_asks("alignment"), metavar="BYTES")] = None,
    attention: Annotated[
        str | None,
        typer.Option(help=_asks("attention"), metavar="|".join(ATTENTION), autocompletion=complete_attention),
    ] = None,
    directory: Annotated[Path | None, typer.Option(help="Where to write it; ./NAME unless given.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing: defaults for what isn't given.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write a package that brings a new device to PyTorch and vLLM: hooks, simulated chip, tests, CI.

    Asks about the chip in a terminal; every answer has a flag. The package's tests run as they are written. Exits with
    2 where the name can't be had, or the folder is there already; nothing is written then.

    Examples:

        accelplug new acme

        accelplug new acme --yes

        accelplug new acme --yes --display-name 'Acme One' --no-int64 --static-shapes --alignment 128 --attention own
    """
    if find_spec("jinja2") is None:
        raise BadInputError("`accelplug new` needs the package jinja2: pip install 'accelplug[new]'")
    into = directory or Path(name)
    given = {
        "title": title,
        "sdk": sdk,
        "device_node": device_node,
        "dtypes": dtypes,
        "int64": int64,
        "static_shapes": static_shapes,
        "alignment": alignment,
        "attention": attention,
    }
    answers = _answers(name, {field: value for field, value in given.items() if value is not None})
    check_free(into)
    if not yes:
        if as_json or not sys.stdin.isatty():
            raise BadInputError("there is no terminal to ask in; give --yes for the defaults of what isn't given")
        answers = _asked(answers)
    written = write(answers, into)
    typer.echo(written.model_dump_json(indent=2) if as_json else _said(written))


def _answers(name: str, given: dict[str, Any]) -> Answers:
    """Raises BadInputError with the flag, the value and what is allowed."""
    said = ("name", *given)  # what follows from a bad name is bad too
    try:
        return Answers(name=name, **{field: _parsed(field, value) for field, value in given.items()})
    except ValidationError as error:
        problems = [_complaint(problem, name, given) for problem in error.errors() if problem["loc"][0] in said]
        raise BadInputError("\n".join(problems)) from None


def _asked(answers: Answers) -> Answers:
    """Goes through all questions; what was given as a flag, or is the default, is what Enter answers."""
    typer.echo(f"About {answers.name}. Enter takes what is in brackets; all of it can be changed later.\n")
    values: dict[str, Any] = dict(answers)
    for field in FLAGS:
        values[field] = _ask(field, values)
    return Answers(**values)


def _ask(field: str, values: dict[str, Any]) -> Any:
    def check(text: str) -> Any:
        try:
            return dict(Answers(**{**values, field: _parsed(field, text)}))[field]
        except ValidationError as error:
            raise typer.BadParameter("; ".join(_why(problem) for problem in error.errors())) from None

    return typer.prompt(_asks(field), default=_shown(values[field]), value_proc=check)


def _parsed(field: str, value: Any) -> Any:
    """An answer as `Answers` takes it, from what was typed."""
    if field == "dtypes" and isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value.strip() if isinstance(value, str) else value


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _complaint(problem: Any, name: str, given: dict[str, Any]) -> str:
    field = str(problem["loc"][0])
    if field == "name":
        return f"{name!r} can't be the name: {_why(problem)}"
    return f"{FLAGS[field]} {given[field]}: {_why(problem)}"


def _why(problem: Any) -> str:
    return str(problem["msg"]).removeprefix("Value error, ")


def _said(written: Written) -> str:
    files = "\n".join(f"  {file}" for file in written.files)
    commands = "\n".join(f"  {command}" for command in written.next)
    return f"written to {written.directory}:\n{files}\n\nnext:\n{commands}"
