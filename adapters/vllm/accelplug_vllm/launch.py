"""``accelplug serve MODEL …``: sets what has to be in the environment before vLLM starts, then is ``vllm serve``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from accelplug import settings
from accelplug.cli.options import complete_device
from accelplug.doctor.packages import entry_points
from accelplug.errors import AccelplugError, BadInputError
from accelplug.plugins import discover
from accelplug.selection import choose, require
from accelplug.specs import Candidate, Host
from accelplug_vllm import allow_list, arbitration, preload, request


def serve(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="A model name or a folder, as `vllm serve` takes it.")],
    device: Annotated[
        str, typer.Option(help="auto, a device, or devices in order of preference.", autocompletion=complete_device)
    ] = "auto",
    trace_dir: Annotated[
        Path | None,
        typer.Option(help="Let `accelplug trace` record this server, into this folder.", metavar="DIR"),
    ] = None,
) -> None:
    """Serve a model with vLLM on the chosen device. All other options are vLLM's (`vllm serve --help`).

    Examples:

        accelplug serve Qwen/Qwen3-0.6B

        accelplug serve Qwen/Qwen3-0.6B --device cuda --port 8001

        accelplug serve Qwen/Qwen3-0.6B --trace-dir traces
    """
    request.refuse_disagreement(device)
    chosen = require(choose(settings.read(), device, request.FLAG))
    if Host().version("vllm") is None:
        raise AccelplugError(
            "no installed `vllm` to serve with; `accelplug doctor --fix` says what is missing and mends it"
        )
    environment = dict(os.environ) | environment_for(chosen, Host())
    command = [sys.executable, "-m", "vllm.entrypoints.cli.main"]
    script = Path(sys.executable).with_name("vllm")
    if script.exists():
        command = [sys.executable, str(script)]
    arguments = [*profiler_options(trace_dir), *context.args]
    os.execve(sys.executable, [*command, "serve", model, "--device", device, *arguments], environment)


def profiler_options(folder: Path | None) -> list[str]:
    """vLLM's options for recording into ``folder``, which is made: without Python's functions, whose number would drown
    what is looked for, and without the tables that vLLM would print. Raises BadInputError where it can't be made."""
    if folder is None:
        return []
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInputError(f"--trace-dir {folder} can't be made: {error.strerror}") from None
    chosen = {
        "profiler": "torch",
        "torch_profiler_dir": str(folder.absolute()),
        "torch_profiler_with_stack": "false",
        "torch_profiler_dump_cuda_time_total": "false",
    }
    return [part for name, value in chosen.items() for part in (f"--profiler-config.{name}", value)]


def environment_for(chosen: Candidate, host: Host) -> dict[str, str]:
    """What the server's processes must find in their environment from the start."""
    found = {}
    if plugins := plugins_for(chosen, host):
        found[allow_list.VARIABLE] = plugins
    if chosen.torch_type == "cpu" and host.system == "Linux":
        present = host.environ.get(preload.VARIABLE, "")
        wanted = [
            library
            for library, kind in ((preload.tcmalloc(host), "tcmalloc"), (preload.openmp(host), "omp"))
            if library and kind not in present
        ]
        if wanted:
            found[preload.VARIABLE] = preload.joined(*wanted, present)
    return found


def plugins_for(chosen: Candidate, host: Host) -> str:
    """A value for ``VLLM_PLUGINS`` without the distributions that would claim the platform for another device, or for
    this one where accelplug's platform was asked for.

    Their packages are then not even imported. "" where there are none, or the user has set the variable.
    """
    if allow_list.VARIABLE in host.environ:
        return ""
    values = settings.read(host.environ).values
    heeded = "" if values.vllm_platform == "accelplug" else chosen.name
    foreign = {name for b in discover(values.backends) if b.name != heeded and b.spec for name in b.spec.vllm_plugins}
    rivals = {e.dist.name for e in entry_points(host, arbitration.PLATFORMS) if e.name in foreign and e.dist}
    return allow_list.without(rivals, host) if rivals else ""
