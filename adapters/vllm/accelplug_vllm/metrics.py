"""The device and the selection as Prometheus metrics, beside vLLM's own at ``GET /metrics``."""

from __future__ import annotations

import functools
import multiprocessing
from typing import Any

from accelplug import __version__
from accelplug_vllm import compat, resolution

FIRST_API_SERVER = "ApiServer_0"  # the name vLLM gives the process


def publish_profiler(vllm_config: Any) -> None:
    """Says where a server that can record writes its traces, so that ``accelplug trace`` finds them.

    A profiler other than torch's says nothing.
    """
    if multiprocessing.parent_process() is not None or not compat.works(compat.TRACE):
        return
    config = vllm_config.profiler_config
    if config.profiler == "torch":
        _publish_profiler(config.torch_profiler_dir)


@functools.cache
def _publish_profiler(directory: str) -> None:
    from prometheus_client import Gauge

    Gauge(
        "accelplug_profiler_info",
        "Where this server's processes write what torch.profiler records; always 1.",
        ("directory",),
        multiprocess_mode="max",
    ).labels(directory).set(1)


def publish() -> None:
    """Publishes once for a server: in its own process, or in the first of several API servers, which share values."""
    if multiprocessing.parent_process() is None or multiprocessing.current_process().name == FIRST_API_SERVER:
        _publish()


@functools.cache
def _publish() -> None:
    decision = resolution.decide()
    if decision.selection is None or decision.selection.chosen is None:
        return
    from prometheus_client import Counter, Gauge

    selection = decision.selection
    chosen = selection[decision.selection.chosen]
    # `_info` metrics of prometheus_client don't work with several API servers; a gauge of 1 is the usual stand-in.
    Gauge(
        "accelplug_device_info",
        "The device that accelplug chose for this server; always 1.",
        ("device", "torch_type", "decided_by", "simulated", "platform", "version"),
        multiprocess_mode="max",
    ).labels(
        chosen.name,
        chosen.torch_type,
        selection.decided_by,
        str(chosen.simulated).lower(),
        decision.stands_aside_for or "accelplug",
        __version__,
    ).set(1)
    selections = Counter(
        "accelplug_selections", "Selections made, by device and what decided.", ("device", "decided_by")
    )
    selections.labels(chosen.name, selection.decided_by).inc()
    verdicts = Counter("accelplug_verdicts", "Verdicts on each device when this server chose.", ("device", "verdict"))
    seconds = Gauge("accelplug_probe_seconds", "How long each probe took.", ("device",), multiprocess_mode="max")
    for candidate in selection.candidates:
        verdicts.labels(candidate.name, candidate.verdict.value).inc()
        seconds.labels(candidate.name).set(candidate.probe_ms / 1e3)
