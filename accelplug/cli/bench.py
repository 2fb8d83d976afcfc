"""``accelplug bench``: how far each device is from its own limits, as a table, a page and JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from accelplug.bench import models
from accelplug.bench.models import PUBLISHED
from accelplug.bench.suite import DTYPES
from accelplug.cli.files import require_folders
from accelplug.cli.options import JsonOption, complete_backends
from accelplug.cli.progress import Progress
from accelplug.cli.render import console
from accelplug.cli.said import warnings_said
from accelplug.files import write_whole
from accelplug.reporting.templates import require_plots
from accelplug.settings import split_names

DEFAULT = Path("bench.json")


def complete_model(incomplete: str) -> list[str]:
    """Sizes that are known without a checkpoint."""
    return [name for name in PUBLISHED if name.startswith(incomplete)]


def bench(
    devices: Annotated[
        str,
        typer.Option(
            help="The backends to measure; without: every one that is usable here.",
            metavar="NAME[,NAME…]",
            autocompletion=complete_backends,
            show_default=False,
        ),
    ] = "",
    model: Annotated[
        str,
        typer.Option(
            help=f"A checkpoint's folder or OWNER/NAME, which is served too, or known sizes: {', '.join(PUBLISHED)}.",
            autocompletion=complete_model,
        ),
    ] = models.DEFAULT,
    dtype: Annotated[
        str,
        typer.Option(
            help=f"{', '.join(DTYPES[:-1])} or {DTYPES[-1]}; without: the first of them that every device holds.",
            autocompletion=lambda: [*DTYPES],
            show_default=False,
        ),
    ] = "",
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only workloads of this name, or a pattern: 'linear*'.", show_default=False),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="One step of three, one round, no serving.")] = False,
    serving: Annotated[bool, typer.Option(help="Serve the checkpoint with vLLM too.")] = True,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The run; an unfinished one in it is gone on with.", metavar="FILE")
    ] = DEFAULT,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin anew, whatever is in the file.")] = False,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with plots to this file.", metavar="FILE", show_default=False)
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(help="Say what changed since the run in this file.", metavar="FILE", show_default=False),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure operators, layers and serving on each device, against its own limits and the best of the devices.

    The limits are measured too: a large copy and a large matrix product. Devices take turns, so that a slow minute
    hits all of them. Ctrl-C loses nothing: the same command goes on. With --against, exits with 1 where something
    is slower than it was; with 2 for bad input.

    Examples:

        accelplug bench

        accelplug bench --devices cpu,cuda --model Qwen/Qwen3-0.6B --html bench.html

        accelplug bench --model llama-3.1-8b --only 'linear*' --only attention --dtype bfloat16

        accelplug bench -o new.json --against old.json

        ACCELPLUG_SIMULATE=neuron accelplug bench --devices cpu,neuron --quick
    """
    from accelplug import bench as measuring
    from accelplug.bench.comparing import compare
    from accelplug.bench.records import Bench
    from accelplug.cli import render_bench as render

    require_folders(output=output, html=html)
    before = Bench.load(against) if against is not None else None
    if html is not None:
        require_plots()
    with warnings_said(), Progress("starting the devices") as progress:
        found = measuring.run(
            split_names(devices),
            model,
            file=output,
            dtype=dtype,
            only=only or (),
            quick=quick,
            serve=serving,
            fresh=fresh,
            progress=progress.at,
        )
    comparison = compare(found, before) if before is not None else None
    if html is not None:
        from accelplug.bench.page import page

        write_whole(html, page(found))
    if as_json:
        typer.echo((comparison or found).model_dump_json(indent=2))
    else:
        render.comparison(console(), comparison) if comparison else render.bench(console(), found)
        typer.echo(f"\nthe run is {output}" + (f", the page {html}" if html is not None else ""))
    raise typer.Exit(1 if comparison and comparison.slower else 0)
