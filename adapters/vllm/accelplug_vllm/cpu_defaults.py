"""vLLM on the CPU: what accelplug sets where vLLM's own default leaves speed on the table.

With one worker, vLLM runs it in a process of its own, and the two processes poll each other on the cores that should
compute: OpenMP's environment has to be set before a process starts, so the worker gets one. Setting that environment
before EngineCore starts makes the extra process unnecessary; the worker then runs inside EngineCore.
``ACCELPLUG_CPU_DEFAULTS=off`` leaves everything as vLLM does it.
"""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING

from accelplug import settings
from accelplug_vllm import compat, openmp, preload

if TYPE_CHECKING:
    from vllm.config import VllmConfig


def apply(vllm_config: VllmConfig, executor_before: object) -> list[str]:
    """Applies the defaults to a configuration that vLLM has just updated, and says which; idempotent.

    ``executor_before`` is the executor before vLLM's own update: where that was not ``uni``, somebody asked for it.
    """
    parallel = vllm_config.parallel_config
    if settings.read().values.cpu_defaults == "off":
        return []
    if (executor_before, parallel.distributed_executor_backend) != ("uni", "mp") or parallel.data_parallel_size > 1:
        return []
    if not compat.works(compat.CPU_DEFAULTS):
        return []
    parallel.distributed_executor_backend = "uni"
    if multiprocessing.parent_process() is not None:
        openmp.release_helper_threads()
        return []
    return ["executor uni (the worker inside EngineCore)", *openmp.prepare(vllm_config), *preload.allocator()]
