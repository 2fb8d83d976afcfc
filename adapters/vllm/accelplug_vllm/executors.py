"""Which of vLLM's executors a device's workers run under, and what is refused."""

from __future__ import annotations

from typing import Any

from accelplug.errors import BadInputError
from accelplug.specs import DeviceSpec
from accelplug_vllm import compat

FLAG = "--distributed-executor-backend"


def check(parallel: Any, spec: DeviceSpec) -> None:
    """Puts accelplug's Ray executor in the place of vLLM's. Idempotent.

    Raises BadInputError, naming the flag, where workers of this device can't be started as it says.
    """
    if parallel.distributed_executor_backend == "ray":
        if not spec.ray_resource:
            raise BadInputError(
                f"{FLAG} ray: the backend of {spec.title} does not say under which name Ray counts its devices "
                f"(DeviceSpec.ray_resource is empty); give {FLAG} mp"
            )
        if reason := compat.why_off(compat.RAY_EXECUTOR):
            raise BadInputError(f"{FLAG} ray: {reason}; give {FLAG} mp")
        from accelplug_vllm.ray_executor import RayExecutor

        parallel.distributed_executor_backend = RayExecutor
    if parallel.data_parallel_size > 1 and parallel.data_parallel_backend == "ray":
        raise BadInputError(
            f"--data-parallel-backend ray: accelplug can't start copies of EngineCore through Ray on {spec.title}; "
            f"leave it at mp ({FLAG} ray is something else, and works)"
        )
    in_engine_core = parallel.distributed_executor_backend == "uni"
    if in_engine_core and parallel.data_parallel_size > 1 and spec.worker_env is not None:
        raise BadInputError(
            f"{FLAG} uni with --data-parallel-size {parallel.data_parallel_size}: each worker on {spec.title} needs an "
            f"environment of its own, and so a process of its own; give {FLAG} mp"
        )
