"""A simulated device computes on the host's cores: its workers get them, as vLLM's workers on the CPU do.

vLLM leaves one thread to a worker whose device is none of its own, as nothing but small vectors is computed on the host
then. Unlike on the CPU the threads are not bound: workers are processes that start in many ways (`executors`).
"""

from __future__ import annotations

import multiprocessing
import os
from typing import Any

from accelplug import settings
from accelplug_vllm import openmp, preload


def share(parallel: Any) -> list[str]:
    """Sets the environment for the processes that come, by vLLM's ``parallel`` configuration; says what it set.

    Idempotent. A user's own number of threads is kept; ``ACCELPLUG_CPU_DEFAULTS=off`` leaves all to vLLM.
    """
    if multiprocessing.parent_process() is not None or settings.read().values.cpu_defaults == "off":
        return []
    if openmp.THREADS in os.environ:
        return []
    workers = parallel.local_world_size * max(1, parallel.data_parallel_size_local)
    cores = len(os.sched_getaffinity(0))
    os.environ[openmp.THREADS] = str(max(1, cores // workers))
    said = f"{os.environ[openmp.THREADS]} of {cores} cores for each simulated device"
    return [said, *openmp.wait_policy(), *preload.allocator()]
