"""What an event of a trace is: what it is coloured and counted by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accelplug.buckets.marks import PREFIX as BUCKET
from accelplug.specs.word import Word

COMPILER = " (dynamo_timed)"  # what torch ends the names of its compiler's phases with
STEPS = ("execute_", "ProfilerStep#")  # vLLM's step of the engine, and torch.profiler's own

DEVICE_CATEGORIES = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})  # Kineto's, for any device
HOST_CATEGORIES = {"cpu_op": "op", "python_function": "python"}


class Kind(Word):
    """The first six are a device's, the others the host's. ``native`` is what the device ran itself, or, of a real
    device, everything that its own profiler calls a kernel."""

    native = "native"
    fallback = "fallback"
    kernel = "kernel"
    graph = "graph"
    mixed_graph = "graph with fallbacks"
    transfer = "transfer"
    op = "op"
    step = "step"
    bucket = "bucket"
    compile = "compile"
    python = "python"
    other = "other"


def kind(event: Mapping[str, Any]) -> Kind:
    """Of an event of a Chrome trace."""
    category, name = event.get("cat", ""), event["name"]
    if category in DEVICE_CATEGORIES:
        own = Kind.native if category == "kernel" else Kind.transfer
        return Kind(event.get("args", {}).get("accelplug", own))
    if name.startswith(BUCKET):
        return Kind.bucket
    if name.endswith(COMPILER):
        return Kind.compile
    if name.startswith(STEPS):
        return Kind.step
    return Kind(HOST_CATEGORIES.get(category, "other"))
