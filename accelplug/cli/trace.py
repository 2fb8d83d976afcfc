"""``accelplug trace``: a timeline of a request to a running server, or of a Python script."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Annotated

import typer

from accelplug.cli import render_trace as render
from accelplug.cli.files import require_folders
from accelplug.cli.options import DeviceOption, JsonOption
from accelplug.cli.render import console
from accelplug.cli.said import warnings_said
from accelplug.errors import BadInputError
from accelplug.servers.client import Server
from accelplug.tracing.server import Request, traced
from accelplug.tracing.summary import TraceSummary

DEFAULT = Path("trace.json")


def trace(
    script: Annotated[
        list[str] | None,
        typer.Argument(help="A Python script and its arguments.", metavar="SCRIPT [ARGS]…", show_default=False),
    ] = None,
    url: Annotated[str | None, typer.Option(help="A running vLLM server instead of a script.", metavar="URL")] = None,
    prompt: Annotated[str | None, typer.Option(help="With --url: what to ask while it records.")] = None,
    chat: Annotated[bool, typer.Option("--chat", help="With --url: ask as a chat message.")] = False,
    max_tokens: Annotated[int, typer.Option(help="With --url: the most tokens to answer with.", min=1)] = 16,
    model: Annotated[str | None, typer.Option(help="With --url: the model, if it serves several.")] = None,
    trace_dir: Annotated[
        Path | None, typer.Option(help="With --url: where the server writes traces, if it doesn't say.", metavar="DIR")
    ] = None,
    device: DeviceOption = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The trace, for ui.perfetto.dev; .gz packs it.", metavar="FILE")
    ] = DEFAULT,
    html: Annotated[
        Path | None,
        typer.Option(help="Also a page that shows it and loads nothing.", metavar="FILE", show_default=False),
    ] = None,
    shapes: Annotated[bool, typer.Option("--shapes", help="With a script: record shapes.")] = False,
    python: Annotated[bool, typer.Option("--python", help="With a script: record Python's functions.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Record what ran on the host and on the device, when, and what fell back to the CPU.

    A server has to be started with a profiler: `accelplug serve MODEL --trace-dir DIR`. A script runs as `python
    SCRIPT` does, on the device that is made live for it. Exits with 1 where the server doesn't answer or has no
    profiler, with 2 for bad input, else as the script does.

    Examples:

        accelplug trace --url http://localhost:8000 --prompt "The capital of France is" --html trace.html

        accelplug trace -o train.json.gz --html train.html train.py --epochs 1

        ACCELPLUG_SIMULATE=spyre accelplug trace --html run.html run.py
    """
    require_folders(output=output, html=html)
    if (url is None) == (not script):
        raise BadInputError(
            "give a Python script, or --url of a running server: `accelplug trace run.py`, or "
            "`accelplug trace --url http://localhost:8000 --prompt Hello`"
        )
    if script:
        _refuse({"--prompt": prompt, "--chat": chat, "--model": model, "--trace-dir": trace_dir}, "belongs to --url")
        _of_script(script, device, output, html, shapes, python, as_json)
        return
    assert url is not None, "the one or the other was given"
    _refuse(
        {"--device": device, "--shapes": shapes, "--python": python}, "is for a script: the server was started already"
    )
    if prompt is None:
        raise BadInputError("--url needs --prompt: what to ask the server while it records")
    _show(_of_server(Server(url), Request(prompt, chat, max_tokens, model), trace_dir, output, html), as_json)


def _refuse(options: dict[str, object], why: str) -> None:
    for option, value in options.items():
        if value:
            raise BadInputError(f"{option} {why}")


def _of_server(server: Server, request: Request, folder: Path | None, output: Path, html: Path | None) -> TraceSummary:
    from accelplug.tracing.recording import written

    answer, traces = traced(server, request, folder)
    return written(traces, output, html, answer)[1]


def _of_script(
    arguments: list[str], device: str | None, output: Path, html: Path | None, shapes: bool, python: bool, as_json: bool
) -> None:
    """Runs the script as ``python SCRIPT`` does. What it raises goes on, once the trace is written."""
    script = Path(arguments[0])
    if not script.is_file():
        raise BadInputError(f"there is no script {script}")
    from accelplug.api import auto, select
    from accelplug.tracing.recording import Recording, trace

    with warnings_said():
        auto() if device is None else select(device)
    before = sys.argv, sys.path[:]
    sys.argv = arguments
    sys.path.insert(0, str(script.absolute().parent))
    recording = Recording()
    try:
        with trace(output, html=html, shapes=shapes, python=python) as recording:
            runpy.run_path(str(script), run_name="__main__")
    finally:
        sys.argv, sys.path[:] = before
        if recording.there:
            _show(recording.summary, as_json)


def _show(numbers: TraceSummary, as_json: bool) -> None:
    if as_json:
        typer.echo(numbers.model_dump_json(indent=2))
    else:
        render.summary(console(), numbers)
