"""The commands that accelplug itself has. Exit codes: 0 fine, 1 not usable or findings remain, 2 bad input."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

import accelplug
from accelplug import doctor as clinic
from accelplug.api import devices as look
from accelplug.api import explain as look_closely
from accelplug.cli import calls, render
from accelplug.cli.bench import bench
from accelplug.cli.conform import conform
from accelplug.cli.extensions import Commands
from accelplug.cli.new import new
from accelplug.cli.options import ASKED_BY, DeviceOption, JsonOption
from accelplug.cli.ray_resources import ray_resources
from accelplug.cli.report import report
from accelplug.cli.said import warnings_kept_back, warnings_said
from accelplug.cli.top import top
from accelplug.cli.trace import trace
from accelplug.errors import BadInputError, DeviceUnusableError
from accelplug.specs import Host, Selection

app = typer.Typer(
    name="accelplug",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"accelplug {accelplug.__version__}")
        raise typer.Exit


@app.callback()
def accelplug_command(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Picks the accelerator, says why, and runs PyTorch and vLLM on it.

    Examples:

        accelplug devices

        accelplug explain --device neuron

        accelplug doctor --fix

        accelplug conform cpu
    """


app.command()(bench)
app.command()(conform)
app.command()(ray_resources)


@app.command()
def devices(device: DeviceOption = None, as_json: JsonOption = False) -> None:
    """List every device, its verdict, and which one is chosen.

    Exits with 1 where the device that is asked for can't be used, with 2 where there is none of that name.

    Examples:

        accelplug devices

        accelplug devices --device neuron,cuda

        accelplug devices --json
    """
    with warnings_said():
        selection = look(device, asked_by=ASKED_BY)
    if as_json:
        typer.echo(selection.model_dump_json(indent=2))
    else:
        render.selection(render.console(), selection)
    _end(selection, as_json)


@app.command()
def explain(
    device: DeviceOption = None,
    op: Annotated[str | None, typer.Option(help="Say of one call which kernel would run it.", metavar="OP")] = None,
    shape: Annotated[str | None, typer.Option(help="The shapes of its tensors.", metavar="2x3,3x4")] = None,
    dtype: Annotated[str | None, typer.Option(help="Their dtype, or one for each.", metavar="NAME[,NAME…]")] = None,
    value: Annotated[list[str] | None, typer.Option(help="Another argument of it.", metavar="NAME=VALUE")] = None,
    as_json: JsonOption = False,
) -> None:
    """Say of each device, or of one, what was looked at, what was found, and what to do.

    With --op: which kernel would run a call of an operator, and why the others would not. Nothing is computed.

    Examples:

        accelplug explain

        accelplug explain --device neuron

        accelplug explain --op aten::mm --shape 128x256,256x64 --dtype bfloat16 --device neuron

        accelplug explain --op aten::_softmax --shape 8x128 --value dim=-1 --value half_to_float=False
    """
    if op is not None:
        _explain_op(op, shape, dtype, value, device, as_json)
        return
    for name, given in (("--shape", shape), ("--dtype", dtype), ("--value", value)):
        if given:
            raise BadInputError(f"{name} belongs to a call of an operator; give --op too")
    with warnings_said():
        explanation = look_closely(device, asked_by=ASKED_BY)
    if as_json:
        typer.echo(explanation.model_dump_json(indent=2))
    else:
        render.explanation(render.console(), explanation)
    _end(explanation.selection, as_json)


def _explain_op(
    op: str, shape: str | None, dtype: str | None, value: list[str] | None, device: str | None, as_json: bool
) -> None:
    from accelplug.op_explanation import explain_op

    shapes, values = calls.shapes(shape or ""), calls.values(value or [])
    names = (dtype or "float32").split(",")
    with warnings_said():
        explained = explain_op(op, shapes, dtype=names if len(names) > 1 else names[0], values=values, device=device)
    if as_json:
        typer.echo(explained.model_dump_json(indent=2))
    else:
        render.op_explanation(render.console(), explained)


def _end(selection: Selection, as_json: bool) -> None:
    """Ends with 1 where nothing that was asked for is usable. With JSON, people read why on standard error."""
    if selection.chosen is None:
        error = DeviceUnusableError(selection)
        if as_json:
            typer.echo(f"accelplug: {error}", err=True)
        raise typer.Exit(error.exit_code)


@app.command()
def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="Put right what can be, saying each step.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --fix: remove packages without asking.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show what a judgement rests on where all is well, too.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check the installation and name the remedy for each finding.

    Exits with 1 while there is an error.

    Examples:

        accelplug doctor

        accelplug doctor --fix

        accelplug doctor --fix --yes --json

        accelplug doctor --verbose
    """
    if yes and not fix:
        raise BadInputError("--yes says yes to what --fix asks; give --fix too")
    out = render.console(stderr=as_json)
    report = _examine()
    if fix:
        report = _repair(report, out, yes, ask=not as_json and sys.stdin.isatty())
    if as_json:
        typer.echo(report.model_dump_json(indent=2))
    else:
        render.report(out, report, verbose)
        if not fix:
            render.fixes(out, report)
    raise typer.Exit(1 if report.counts[clinic.Level.error] else 0)


app.command()(new)
app.command()(report)
app.command(context_settings={"allow_interspersed_args": False})(trace)  # what comes after a script is its own
app.command()(top)


def _examine() -> clinic.Report:
    with warnings_kept_back():
        return clinic.Report(findings=clinic.diagnose(Host()))


def _repair(before: clinic.Report, out: Console, yes: bool, ask: bool) -> clinic.Report:
    """Applies the fixes, showing the findings before, and returns the report after."""

    def consent(fix: clinic.Fix) -> bool:
        if yes or not fix.removes:
            out.print(f"now: {fix.action} …")
            return True
        if ask:
            return typer.confirm(f"{fix.action}?")
        out.print(f"not without --yes: {fix.action}")
        return False

    fixable = [finding for finding in before.findings if finding.fix]
    if not fixable:
        out.print("nothing to fix")
        return before
    out.print("before:", style="bold")
    render.report(out, clinic.Report(findings=tuple(fixable)))
    actions = []
    for done in clinic.repair(fixable, consent):
        render.action(out, done)
        actions.append(done)
    out.print("after:", style="bold")
    return clinic.Report(findings=_examine().findings, actions=tuple(actions))
