"""A `vllm serve` of the area's own, on a free port."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from typing import IO, Any

import psutil

from accelplug.conformance.subject import Subject
from accelplug.interpreters import ended
from accelplug_vllm.conformance import expected, here

HOST = "127.0.0.1"
MODEL = "model"
START_LIMIT = 300.0  # seconds until it answers
END_LIMIT = 60.0  # seconds from being told to stop until no process is left
LIMIT = START_LIMIT + END_LIMIT + 60  # of a check that starts one
TAIL = 12  # lines of its log


class Server:
    """Started at once; `wait` returns when it answers. It stays in the process group of whoever examines, so that it
    is ended with that."""

    def __init__(self, subject: Subject, port: int | None = None) -> None:
        self.port = port or _free_port()
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        options = here.small(here.dtype_name(subject))
        given = {name.replace("_", "-"): value for name, value in options.items() if name != "model"}
        arguments = [f"--{name}" if value is True else f"--{name}={value}" for name, value in given.items()]
        names = [f"--served-model-name={MODEL}", f"--host={HOST}", f"--port={self.port}", f"--device={subject.name}"]
        environ = {
            "ACCELPLUG_DEVICE": subject.name,  # over another one that this process may have
            "HF_HUB_OFFLINE": "1",
            "PYTHONPATH": os.pathsep.join(here.search_path()),
        }
        self._process = psutil.Popen(
            [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", options["model"], *names, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environ},
        )

    def wait(self) -> None:
        """Raises AssertionError, with the end of its log, where it ends or doesn't answer in time."""
        deadline = time.monotonic() + START_LIMIT
        while not self.healthy():
            code = self._process.poll()
            if code is not None:
                raise self._failure(f"before it answered {ended(code)}")
            if time.monotonic() >= deadline:
                raise self._failure(f"no answer within {START_LIMIT:g} s")
            time.sleep(0.2)

    def healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{HOST}:{self.port}/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False  # not listening, or not well

    def post(self, path: str, **body: Any) -> Any:
        """The answer to a request. Raises urllib.error.HTTPError where it is refused."""
        with self.stream(path, **body) as answer:
            return json.load(answer)

    @contextlib.contextmanager
    def stream(self, path: str, **body: Any) -> Iterator[Any]:
        """The answer as it comes."""
        request = urllib.request.Request(
            f"http://{HOST}:{self.port}{path}",
            json.dumps({"model": MODEL, **body}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            yield answer

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://{HOST}:{self.port}{path}", timeout=30) as answer:
            return str(answer.read().decode())

    def answer(self, prompt: Sequence[int]) -> list[int]:
        """The greedy tokens to one prompt."""
        said = self.post("/v1/completions", **question(prompt), return_token_ids=True)
        tokens: list[int] = said["choices"][0]["token_ids"]
        return tokens

    def processes(self) -> list[psutil.Process]:
        """The server's own, and those it has started."""
        return [self._process, *self._process.children(recursive=True)]

    def stop(self) -> None:
        """Tells it to stop, as a service manager does."""
        self._process.terminate()

    def has_ended(self, started: Sequence[psutil.Process]) -> int:
        """The server's code, once neither it nor any of what it has ``started`` is left. Raises AssertionError with
        what is still there after a minute."""
        deadline = time.monotonic() + END_LIMIT
        while (left := [process for process in started if _runs(process)]) and time.monotonic() < deadline:
            time.sleep(0.1)
        if left:
            raise self._failure(f"after {END_LIMIT:g} s these are left: {', '.join(map(_described, left))}")
        return int(self._process.wait(1))

    def close(self) -> None:
        """Leaves nothing behind."""
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in self.processes():
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        self._process.wait()
        self._log.close()

    def _failure(self, said: str) -> AssertionError:
        """``said``, and the end of the log as lines of their own."""
        self._log.seek(0)
        lines = [line for line in self._log.read().decode(errors="replace").splitlines() if line.strip()]
        return AssertionError("\n".join([said, *lines[-TAIL:]]))


def question(prompt: Sequence[int]) -> dict[str, Any]:
    """A request for greedy tokens."""
    return {"prompt": [*prompt], "max_tokens": expected.ANSWER, "temperature": 0, "ignore_eos": True}


def _runs(process: psutil.Process) -> bool:
    """One that has ended and that nobody has asked for its code doesn't."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _described(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.NoSuchProcess):
        return f"{process.pid} ({process.name()})"
    return str(process.pid)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
