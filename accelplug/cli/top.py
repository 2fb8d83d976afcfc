"""``accelplug top``: what a running server does, live."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live

from accelplug.cli import render_top as render
from accelplug.cli.options import JsonOption
from accelplug.cli.render import console
from accelplug.errors import AccelplugError, BadInputError
from accelplug.servers.client import NoAnswerError, Server
from accelplug.servers.exposition import scraped
from accelplug.servers.status import ServerStatus, status


def top(
    url: Annotated[str, typer.Argument(help="The server's URL.", metavar="URL")] = "http://localhost:8000",
    interval: Annotated[float, typer.Option(help="Seconds between looks; rates are over them.", min=0.1)] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Show it once, after one interval, and end.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show live what a vLLM server does: tokens, requests, KV cache, what runs on the device and what falls back.

    It reads GET /metrics and changes nothing. Ctrl-C ends it. Exits with 1 where nothing answers at the URL, or what
    answers is no vLLM server.

    Examples:

        accelplug top

        accelplug top http://gpu-box:8000 --interval 5

        accelplug top localhost:8000 --once --json
    """
    if as_json and not once:
        raise BadInputError("--json prints one look; give --once too")
    server = Server(url)
    if as_json:
        typer.echo(next(_looks(server, interval)).model_dump_json(indent=2))
    elif once:
        out = console()
        out.print(render.view(next(_looks(server, interval)), out.width))
    else:
        _live(server, interval, console())


def _looks(server: Server, interval: float) -> Iterator[ServerStatus]:
    """One look after the other, the first after one interval. Raises AccelplugError where the server doesn't answer."""
    before, at = scraped(server), time.monotonic()
    while True:
        time.sleep(interval)
        now, now_at = scraped(server), time.monotonic()
        yield status(server.url, before, now, now_at - at)
        before, at = now, now_at


def _live(server: Server, interval: float, out: Console) -> None:
    """Until Ctrl-C. A server that has answered and stops doing so is waited for."""
    looks = _looks(server, interval)
    with Live(render.waiting(server.url, interval), console=out, screen=out.is_terminal, auto_refresh=False) as shown:
        try:
            answered = False
            while True:
                try:
                    look = next(looks)
                except NoAnswerError as error:
                    if not answered:
                        raise
                    shown.update(render.gone(str(error)), refresh=True)
                    looks = _patient(server, interval)
                    continue
                answered = True
                shown.update(render.view(look, out.width, out.height), refresh=True)
        except KeyboardInterrupt:
            return


def _patient(server: Server, interval: float) -> Iterator[ServerStatus]:
    """As `_looks`, once the server answers again."""
    while True:
        time.sleep(interval)
        try:
            scraped(server)
        except AccelplugError:
            continue
        yield from _looks(server, interval)
