"""What the worker of this process counts of its buckets, for the server's metrics."""

from __future__ import annotations

import functools

from accelplug.buckets import Collector, Usage
from accelplug_vllm import worker_metrics

MODEL = Usage("model")


@functools.cache
def publish() -> None:
    """Once for each process, however many workers it makes."""
    worker_metrics.add(Collector(lambda: [MODEL.snapshot()]))
