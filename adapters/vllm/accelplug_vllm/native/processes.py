"""Starts vLLM's worker processes (executor ``mp``) with what each one's vendor wants in its environment."""

from __future__ import annotations

import functools
from typing import Any

from accelplug.specs import Worker
from accelplug_vllm import compat, placement
from accelplug_vllm.native import device


@functools.cache
def install() -> None:
    """Does that in this process, once, where vLLM has the place for it. See compat: "processes.environment"."""
    if not compat.works(compat.SEVERAL_WORKERS):
        return
    from vllm.v1.executor.multiproc_executor import WorkerProc

    upstream = WorkerProc.make_worker_process

    def make_worker_process(*, vllm_config: Any, local_rank: int, rank: int, **options: Any) -> Any:
        parallel = vllm_config.parallel_config
        at = placement.device_of(parallel, local_rank)
        worker = Worker(rank=rank, local_rank=local_rank, world_size=parallel.world_size, device=at)
        with placement.environ(placement.environment(device.current().spec, worker)):
            return upstream(vllm_config=vllm_config, local_rank=local_rank, rank=rank, **options)

    WorkerProc.make_worker_process = staticmethod(make_worker_process)
