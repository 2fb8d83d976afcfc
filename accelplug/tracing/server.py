"""Traces one request to a running vLLM: its own profilers record in every process, and their files are put together."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accelplug.errors import AccelplugError, BadInputError
from accelplug.servers.client import Server, StatusError
from accelplug.servers.exposition import scraped
from accelplug.tracing import chrome

WRITING = 600.0  # seconds that the server's processes may take to write what they have recorded
TRACES = "*.pt.trace.json*"  # as vLLM names them: NAME.TIME.pt.trace.json.gz
START = (
    "start it with `accelplug serve MODEL --trace-dir DIR`, or `vllm serve MODEL --profiler-config.profiler torch "
    "--profiler-config.torch_profiler_dir DIR --profiler-config.torch_profiler_with_stack false`"
)


@dataclass(frozen=True)
class Request:
    """What is asked while the server records. ``chat`` asks as a message, else the text is completed; ``model`` None is
    the server's first; ``timeout`` is in seconds."""

    prompt: str
    chat: bool = False
    max_tokens: int = 16
    model: str | None = None
    timeout: float = 600.0


def traced(server: Server, request: Request, folder: Path | None = None) -> tuple[str, dict[str, chrome.Trace]]:
    """The model's answer, and the trace of each process by what vLLM calls it.

    ``folder`` is where the server writes them; None: as its metrics say. It has to be seen from here.
    Raises NoAnswerError or StatusError for a server that doesn't answer as one should, BadInputError for a folder that
    isn't there, AccelplugError where the server has no profiler, or wrote nothing.
    """
    folder = _folder(server, folder)
    model = request.model or _first_model(server)
    before = set(folder.glob(TRACES))
    _start(server)
    try:
        answer = _ask(server, request, model)
    finally:
        server.post("/stop_profile", {}, WRITING)
    files = sorted(set(folder.glob(TRACES)) - before)
    if not files:
        raise AccelplugError(
            f"{server.url} has recorded, but wrote no trace to {folder}: is that where it writes, as "
            "--profiler-config.torch_profiler_dir said?"
        )
    return answer, {_label(file): chrome.read(file) for file in files}


def _folder(server: Server, given: Path | None) -> Path:
    """Where the server writes. Raises AccelplugError where it has no profiler or doesn't say where it writes."""
    samples = scraped(server)
    info = [sample.labels for sample in samples.of("accelplug_profiler_info")]
    if given is None and not info:
        known = "accelplug_device_info" in samples.names()
        if known:
            raise AccelplugError(f"{server.url} was started without a profiler; {START}")
        raise AccelplugError(
            f"{server.url} runs without accelplug and doesn't say where it writes traces: give its "
            f"--profiler-config.torch_profiler_dir as --trace-dir; if it was started without a profiler, {START}"
        )
    folder = given or Path(info[0]["directory"])
    if not folder.is_dir():
        raise BadInputError(
            f"there is no folder {folder} here, where {server.url} writes traces: run this on the server's machine, or "
            "give --trace-dir the place under which its files are seen here"
        )
    return folder


def _first_model(server: Server) -> str:
    models = json.loads(server.get("/v1/models"))["data"]
    return str(models[0]["id"])


def _start(server: Server) -> None:
    try:
        server.post("/start_profile", {}, WRITING)
    except StatusError as error:
        if error.status == 404:
            raise AccelplugError(f"{server.url} was started without a profiler; {START}") from None
        raise


def _ask(server: Server, request: Request, model: str) -> str:
    body: dict[str, Any] = {"model": model, "max_tokens": request.max_tokens, "temperature": 0}
    if request.chat:
        body["messages"] = [{"role": "user", "content": request.prompt}]
        answer = json.loads(server.post("/v1/chat/completions", body, request.timeout))
        return str(answer["choices"][0]["message"]["content"])
    body["prompt"] = request.prompt
    return str(json.loads(server.post("/v1/completions", body, request.timeout))["choices"][0]["text"])


def _label(file: Path) -> str:
    """What vLLM calls the process: the file's name without the time and what says that it is a trace."""
    return re.sub(r"(\.\d+)?\.pt\.trace\.json(\.gz)?$", "", file.name)
