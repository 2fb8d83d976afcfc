"""Which of several workers a process is, and what its vendor wants in its environment.

Both have to be there when a worker process starts: it makes the device live while it imports vLLM, before vLLM tells it
anything. So what starts the process leaves them in its environment.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

from accelplug.settings import PREFIX
from accelplug.specs import DeviceSpec, Record, Worker

VARIABLE = PREFIX + "PLACEMENT"


class Placement(Record):
    """``index`` is that of the worker's device among those that its process sees."""

    worker: Worker
    index: int


def environment(spec: DeviceSpec, worker: Worker) -> dict[str, str]:
    """What the worker's process has to find in its environment, from its start."""
    wanted = spec.worker_env(worker) if spec.worker_env else {}
    alone = bool(spec.visible_devices) and spec.visible_devices in wanted
    placement = Placement(worker=worker, index=0 if alone else worker.device)
    return {**wanted, VARIABLE: placement.model_dump_json()}


def received() -> Placement | None:
    """What the process that started this one as a worker has left for it."""
    return Placement.model_validate_json(os.environ[VARIABLE]) if VARIABLE in os.environ else None


def device_of(parallel: Any, local_rank: int) -> int:
    """The place of a worker's device among those that the server sees, by vLLM's ``ParallelConfig``.

    vLLM gives each copy of a model on one machine (data parallel) its own, or those of ``--device-ids``. Where several
    servers are the copies, ``VLLM_DP_RANK_LOCAL`` tells them apart.
    """
    assigned = parallel.assigned_physical_gpu_ids
    if assigned:
        return int(assigned[local_rank])
    return int(parallel.data_parallel_rank_local or 0) * int(parallel.local_world_size) + local_rank


@contextlib.contextmanager
def environ(variables: Mapping[str, str]) -> Iterator[None]:
    """``os.environ`` has these variables for the block, and what was there before it afterwards."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
