"""``accelplug conform``: examines a device, shows a table, and writes the report as JSON, HTML or a badge."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from accelplug import conformance
from accelplug.cli import render_conformance as render
from accelplug.cli.files import require_folders
from accelplug.cli.options import JsonOption, complete_backend
from accelplug.cli.progress import Progress
from accelplug.cli.render import console
from accelplug.cli.render_comparison import comparison
from accelplug.cli.said import warnings_said
from accelplug.cli.signals import ended_in_order
from accelplug.conformance import ConformanceReport, badge, catalogue, changes, files, levels
from accelplug.errors import BadInputError
from accelplug.files import write_whole

BADGES = {".svg": badge.svg, ".json": badge.endpoint}


def complete_area(incomplete: str) -> list[str]:
    """Areas for what is being typed."""
    return [name for name in catalogue.names() if name.startswith(incomplete)]


def complete_level(incomplete: str) -> list[str]:
    """Levels for what is being typed."""
    return [name for name in levels.names() if name.startswith(incomplete)]


def conform(
    name: Annotated[
        str | None,
        typer.Argument(help="The backend: cpu, neuron, …", autocompletion=complete_backend, show_default=False),
    ] = None,
    area: Annotated[
        list[str] | None,
        typer.Option(help="Only this area; may be given again.", autocompletion=complete_area, show_default=False),
    ] = None,
    level: Annotated[
        str | None,
        typer.Option(
            help=f"Only what this level needs: {', '.join(levels.names())}.",
            autocompletion=complete_level,
            show_default=False,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only checks of this name, or a pattern: 'nn.functional.*'.", show_default=False),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A sample of the checks, in seconds.")] = False,
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep the report in this file, and don't run again what it has.", show_default=False),
    ] = None,
    read: Annotated[
        Path | None,
        typer.Option("--from", help="Run nothing: take the report from this file.", show_default=False),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page to this file.", show_default=False)] = None,
    badge: Annotated[
        Path | None,
        typer.Option(help="Write a badge to this file: .svg, or .json for shields.io.", show_default=False),
    ] = None,
    compare: Annotated[
        tuple[Path, Path] | None,
        typer.Option(help="Run nothing: say what changed from one report to a later one.", metavar="BEFORE AFTER"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Examine a backend and its device: what of PyTorch and vLLM works, area by area, and why the rest doesn't.

    Exits with 1 where a check failed or the device can't be used, with 2 where there is no such backend, area or level.
    With --compare: with 1 where something got worse.

    Examples:

        accelplug conform neuron --level computes

        accelplug conform neuron --quick --html report.html

        accelplug conform neuron --area ops --only 'nn.functional.*' --json

        ACCELPLUG_SIMULATE=spyre accelplug conform spyre --keep spyre.json

        accelplug conform --from spyre.json --html spyre.html --badge spyre.svg

        accelplug conform --compare before.json after.json
    """
    given = {"--area": area, "--level": level, "--only": only, "--quick": quick, "--keep": keep}
    if compare is not None:
        _refuse("--compare", {"NAME": name, **given, "--from": read, "--html": html, "--badge": badge})
        _compare(*compare, as_json)
    _check_writable(html, badge, keep)
    if read is not None:
        _refuse("--from", {"NAME": name, **given})
        report = files.read(read)
    else:
        if name is None:
            raise BadInputError("which backend? give its name, or --from with a report, or --compare with two")
        report = _examine(name, area or [], level or "", only or [], quick, keep)
    if html is not None:
        write_whole(html, _page(report))
    if badge is not None:
        write_whole(badge, BADGES[badge.suffix](report))
    if as_json:
        typer.echo(report.model_dump_json(indent=2))
    else:
        render.report(console(), report)
        for what, file in (("page", html), ("badge", badge)):
            if file is not None:
                typer.echo(f"\nthe {what} is {file}")
    raise typer.Exit(0 if report.ok else 1)


def _examine(
    name: str, areas: list[str], level: str, only: list[str], quick: bool, keep: Path | None
) -> ConformanceReport:
    if areas and level:
        raise BadInputError("--area and --level both say what is examined; give one of them")
    if keep is not None and only:
        raise BadInputError("--keep keeps whole areas, and --only leaves checks of them out; give one of them")
    kept = files.read(keep) if keep is not None and keep.exists() else None
    with warnings_said(), ended_in_order(), Progress("starting") as progress:
        return conformance.run(
            name,
            areas=areas,
            level=level,
            only=only,
            quick=quick,
            progress=progress.advance,
            kept=kept,
            keep=None if keep is None else lambda report: files.write(keep, report),
        )


def _compare(before: Path, after: Path, as_json: bool) -> None:
    found = changes.compare(files.read(before), files.read(after))
    if as_json:
        typer.echo(found.model_dump_json(indent=2))
    else:
        comparison(console(), found)
    raise typer.Exit(0 if found.ok else 1)


def _refuse(option: str, others: dict[str, object]) -> None:
    """Raises BadInputError for what would be left out without a word."""
    if given := [name for name, value in others.items() if value]:
        raise BadInputError(f"{option} runs nothing, so {', '.join(given)} can't be given with it")


def _check_writable(html: Path | None, badge: Path | None, keep: Path | None) -> None:
    """Raises BadInputError before minutes of work, not after."""
    if html is not None and find_spec("jinja2") is None:
        raise BadInputError("--html needs the package jinja2: pip install 'accelplug[conform]'")
    if badge is not None and badge.suffix not in BADGES:
        raise BadInputError(f"--badge {badge}: a badge is a file ending in {' or '.join(BADGES)}")
    require_folders(html=html, badge=badge, keep=keep)


def _page(report: ConformanceReport) -> str:
    from accelplug.conformance.page import page  # jinja2 is an extra

    return page(report)
