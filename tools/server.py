"""A `vllm serve` of our own: started on a free port, watched until it answers, and always stopped."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

HOST = "127.0.0.1"
GRACE = 15.0  # seconds from SIGTERM to SIGKILL


class ServerError(Exception):
    """The server ended or did not answer in time; the text ends with the last lines of its log."""


@dataclass(frozen=True)
class Server:
    """A server that answers. ``url`` is without a path: ``http://127.0.0.1:8123``."""

    url: str
    log: Path
    process: subprocess.Popen[bytes]


@contextlib.contextmanager
def serving(
    model: str,
    *arguments: str,
    log: Path,
    program: str = "vllm",
    port: int | None = None,
    environ: Mapping[str, str] | None = None,
    timeout: float = 600.0,
    progress: Callable[[str], None] | None = None,
) -> Iterator[Server]:
    """Runs `vllm serve model arguments…` for the block; on leaving it, however that happens, no process is left.

    ``program`` may be `accelplug`, which launches the same server, or the path of another environment's `vllm`.
    ``port`` None takes a free one. ``environ`` is added to this process's environment. ``progress`` is told what
    the server is doing. Raises ServerError if the server ends, or has not answered ``timeout`` seconds after its start.
    """
    port = free_port() if port is None else port
    script = Path(sys.executable).parent / program  # not resolved: the environment's link is what marks it
    command = [str(script), "serve", model, "--host", HOST, "--port", str(port), *arguments]
    with log.open("wb") as stream:
        # A session of its own, so that it and all its workers can be ended together.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environ or {})},
            start_new_session=True,
        )
    server = Server(f"http://{HOST}:{port}", log, process)
    try:
        _wait(server, timeout, progress or (lambda phase: None))
        yield server
    finally:
        _stop(process)


def free_port() -> int:
    """A port that nothing listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def phase(lines: Iterable[str]) -> str:
    """What vLLM last said it was doing, without process, level, time and place; empty where it said nothing yet."""
    said = [found[1] for line in lines if (found := re.match(r"(?:\(.*?\) )?INFO \S+ \S+ \[\S+\] (.*)", line))]
    return said[-1] if said else ""


def last_lines(log: Path, count: int) -> list[str]:
    """The last lines of a log that aren't empty; progress bars count as the lines they draw over."""
    lines = log.read_text(errors="replace").replace("\r", "\n").splitlines()
    return [line for line in lines if line.strip()][-count:]


def _wait(server: Server, timeout: float, progress: Callable[[str], None]) -> None:
    """Returns when /health answers."""
    deadline, shown = time.monotonic() + timeout, ""
    while not _healthy(server.url):
        code = server.process.poll()
        if code is not None:
            raise ServerError(complaint(f"the server ended with {code} before it answered", server.log))
        if time.monotonic() > deadline:
            raise ServerError(complaint(f"the server has not answered for {timeout:.0f} s", server.log))
        now = phase(last_lines(server.log, 50))
        if now != shown:
            progress(now)
            shown = now
        time.sleep(0.25)


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False  # not listening yet


def complaint(what: str, log: Path) -> str:
    """What went wrong, with the end of the server's log."""
    return "\n".join([f"{what}. The end of {log}:", *("  " + line for line in last_lines(log, 25))])


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the server's whole process group: politely, then for certain."""
    try:
        process.terminate()
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        pass  # it had its time
    finally:  # also when a second Ctrl-C cuts the wait short
        with contextlib.suppress(ProcessLookupError):  # none left: the usual case
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
