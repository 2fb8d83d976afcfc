"""`make demo`: picks the device, serves a real model on it with vLLM, asks it a question, stops.

Exit status 0 when the answer names Paris, 1 when it doesn't or the server failed. `--serve` stays up instead.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from openai import OpenAI, OpenAIError
from rich.console import Console
from rich.markup import escape

import accelplug
from accelplug.servers.client import Server as Client
from accelplug.servers.exposition import scraped
from tools import demo_report
from tools.checkpoint import checkpoint
from tools.server import Server, ServerError, complaint, serving

QUESTION = "What is the capital of France?"
ANSWER = "Paris"
NAME = "smollm2"

# Start soon and fit a small machine: no compilation, short contexts, a KV cache of half a gigabyte.
FLAGS = ("--max-model-len", "2048", "--max-num-seqs", "16", "--kv-cache-memory-bytes", "512M", "--enforce-eager")

console = Console()
COUNTED = 2.0  # seconds after which the server's metrics have what it did: workers write their counts once a second
WIDTH = 110  # of a progress line where there is no terminal to measure


@dataclass(frozen=True)
class Reply:
    """A streamed answer and how fast it came. Times are seconds since the question was sent."""

    text: str
    tokens: int
    first_token: float
    end: float


def main() -> int:
    """The exit status."""
    options = parse(None)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return demo(options)
    except (ServerError, accelplug.AccelplugError, ModuleNotFoundError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 0 if options.serve else 130


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The command line; None is the process's own."""
    parser = argparse.ArgumentParser(description="Serves a real model on the device that accelplug picks, and asks it.")
    parser.add_argument("--serve", action="store_true", help="stay up until Ctrl-C")
    parser.add_argument("--device", default="auto", help="auto (default), or a device's name")
    parser.add_argument("--model", help=f"a model that vLLM can load; default: {NAME}, made from a package")
    parser.add_argument("--port", type=int, help="default: a free one")
    return parser.parse_args(arguments)


def demo(options: argparse.Namespace) -> int:
    """Shows the selection, serves, asks, and says how to ask by oneself."""
    selection = accelplug.devices(options.device)
    print(selection, end="\n\n", flush=True)
    if selection.chosen is None:
        return 1
    name = options.model or NAME
    # The checkpoint is a local folder: nothing to ask the Hugging Face hub about.
    model, environ = (options.model, {}) if options.model else (str(checkpoint()), {"HF_HUB_OFFLINE": "1"})
    log = new_log()
    arguments = ["--device", options.device, "--served-model-name", name, *FLAGS]
    print(f"$ vllm serve {model} {' '.join(arguments)}\n  log: {log}", flush=True)
    with contextlib.ExitStack() as stack:
        start = time.monotonic()
        with starting() as progress:
            server = stack.enter_context(
                serving(model, *arguments, log=log, port=options.port, environ=environ, progress=progress)
            )
        print(f"  ready after {time.monotonic() - start:.0f} s at {server.url}\n", flush=True)
        right = converse(server, name, start)
        if options.serve:
            print("\nUp until Ctrl-C.", flush=True)
            server.process.wait()
            raise ServerError(f"the server ended with {server.process.returncode}; see {log}")
    return 0 if right else 1


def new_log() -> Path:
    """A new file in the system's temporary folder; it stays, to be read afterwards."""
    with tempfile.NamedTemporaryFile(prefix="accelplug-demo-", suffix=".log", delete=False) as stream:
        return Path(stream.name)


def converse(server: Server, name: str, began: float) -> bool:
    """Asks the question of a server that ``began`` then, and shows what came of it; whether the answer is right."""
    print(f"Q: {QUESTION}\nA: ", end="", flush=True)
    try:
        reply = ask(server.url, name)
    except OpenAIError as error:
        raise ServerError(complaint(f"the server did not answer the question: {error}", server.log)) from error
    speed = f"{reply.tokens / reply.end:.1f} tokens/s, first token after {reply.first_token:.2f} s"
    print(f"\n\n{reply.tokens} tokens in {reply.end:.2f} s: {speed}")
    time.sleep(COUNTED)
    console.print()
    console.print(
        demo_report.panel(demo_report.since_start(server.url, scraped(Client(server.url)), time.monotonic() - began))
    )
    right = ANSWER in reply.text
    if not right:
        print(f"error: the answer does not name {ANSWER}", file=sys.stderr)
    print(f"\nAsk it yourself while it is up (`make serve` keeps it up):\n{curl(server.url, name)}", flush=True)
    return right


def ask(url: str, name: str) -> Reply:
    """Asks the question, prints the answer as it comes."""
    client = OpenAI(base_url=f"{url}/v1", api_key="none needed", max_retries=0)
    start = time.monotonic()
    stream = client.chat.completions.create(
        model=name,
        messages=[{"role": "user", "content": QUESTION}],
        temperature=0,
        max_tokens=64,
        stream=True,
        stream_options={"include_usage": True},
    )
    text, tokens, first = "", 0, 0.0
    for chunk in stream:
        if chunk.usage:
            tokens = chunk.usage.completion_tokens
        for choice in chunk.choices:
            if choice.delta.content:
                first = first or time.monotonic() - start
                text += choice.delta.content
                print(choice.delta.content, end="", flush=True)
    return Reply(text, tokens, first, time.monotonic() - start)


def curl(url: str, name: str) -> str:
    """The command that asks the same question."""
    body = f'{{"model": "{name}", "messages": [{{"role": "user", "content": "{QUESTION}"}}]}}'
    return f"  curl {url}/v1/chat/completions -H 'Content-Type: application/json' -d '{body}'"


@contextlib.contextmanager
def starting() -> Iterator[Callable[[str], None]]:
    """Takes what the server is doing and shows it: one moving line on a terminal, plain lines elsewhere."""
    if not console.is_terminal:
        yield lambda phase: print(f"  {phase[:WIDTH]}", flush=True)
        return
    with console.status("starting") as status:
        yield lambda phase: status.update(escape(phase[: console.width - 4]))


def _interrupt(number: int, frame: FrameType | None) -> None:
    """SIGTERM ends the demo as Ctrl-C does: with its server."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
