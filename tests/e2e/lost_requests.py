"""Requests to a server whose device is lost while they are under way."""

from __future__ import annotations

import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import openai

from tools.server import Server

LONG: dict[str, Any] = {"model": "model", "max_tokens": 200, "extra_body": {"ignore_eos": True}}


class Lost(NamedTuple):
    """What became of a streamed answer and of a whole one, and of the server."""

    stream: str
    whole: str
    status: int
    healthy: bool
    last_words: list[str]


def lose(server: Server, file: Path) -> Lost:
    """Asks, makes ``file``, with which the device is lost, and waits for the server's end."""
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", timeout=120, max_retries=0)
    with ThreadPoolExecutor() as threads:
        whole = threads.submit(client.completions.create, prompt="Once", **LONG)
        stream = iter(client.completions.create(prompt="A", stream=True, **LONG))
        next(stream)
        file.touch()
        try:
            list(stream)
        except openai.APIError as error:
            of_the_stream = error.message
        healthy = _healthy(server.url)
        failed = whole.exception()
    assert isinstance(failed, openai.APIStatusError), failed
    server.process.wait(60)
    said = [line for line in server.log.read_text().splitlines() if line.startswith("accelplug: ")]
    return Lost(of_the_stream, failed.message, failed.status_code, healthy, said)


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False  # 503, or the server has ended by now
