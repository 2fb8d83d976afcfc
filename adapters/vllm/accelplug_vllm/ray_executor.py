"""vLLM's Ray executor on every device whose backend names a Ray resource, the CPU included.

Upstream's needs ids from Ray, which Ray has for the accelerators that it knows, and starts all workers with one
environment. See compat: "ray.ids", "ray.environment".
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import ray
from vllm import envs
from vllm.config import VllmConfig
from vllm.v1.executor import ray_executor_v2, ray_utils

from accelplug.specs import Worker
from accelplug_vllm import placement, ray_cluster, resolution
from accelplug_vllm.compat import replaced

# A worker imports vLLM, and with it makes its device live, before vLLM hands it the rest of the environment.
PREFIXES = ("ACCELPLUG_", "VLLM_", "HF_")


class RayWorker(ray_executor_v2.RayWorkerProc):  # type: ignore[misc]
    """One worker, in an actor."""

    def get_node_and_physical_gpu_ids(self) -> tuple[str, list[int]]:
        """The node, and the worker's place on it. Which device that is its `Placement` says."""
        here = placement.received()
        assert here is not None, "the executor leaves one for each worker"
        return ray.get_runtime_context().get_node_id(), [here.worker.local_rank]


class RayExecutor(ray_executor_v2.RayExecutorV2):  # type: ignore[misc]
    """Joins or starts a cluster, and gives each worker its own environment."""

    _started_ray = False

    def __init__(self, vllm_config: VllmConfig) -> None:
        self._chosen = resolution.chosen()
        self._spec = self._chosen.spec
        super().__init__(vllm_config)

    def _init_executor(self) -> None:
        parallel = self.parallel_config
        resource, here = self._spec.ray_resource, self._chosen.candidate.count
        self._started_ray = ray_cluster.join(resource, here, parallel.world_size, parallel.ray_runtime_env)
        with replaced(ray_executor_v2, "RayWorkerProc", RayWorker):
            super()._init_executor()

    def _get_actor_resource_kwargs(self) -> dict[str, Any]:
        """CPUs can't be asked for under that name; the bundle that the worker is put into has one."""
        if self._spec.ray_resource == ray_cluster.CPU:
            return {"num_gpus": 0}
        return super()._get_actor_resource_kwargs()  # type: ignore[no-any-return]

    def _build_runtime_env(self) -> dict[str, Any]:
        """Upstream asks once and then starts the workers with it; `_is_driver_worker` makes it each one's own."""
        self._runtime_env = super()._build_runtime_env()
        self._common = passed_on(os.environ) | self._runtime_env["env_vars"]
        self._local_ranks = self._ranks_on_their_nodes()
        return self._runtime_env  # type: ignore[no-any-return]

    def _is_driver_worker(self, rank: int) -> bool:
        """Upstream asks it of each worker, just before it starts it."""
        self._runtime_env["env_vars"] = self._common | self._environment(rank)
        return super()._is_driver_worker(rank)  # type: ignore[no-any-return]

    def _ranks_on_their_nodes(self) -> list[int]:
        """The local rank of each worker, as upstream will count them from where Ray has put the bundles."""
        group = self.parallel_config.placement_group
        if envs.VLLM_RAY_BUNDLE_INDICES:
            indices = [int(index) for index in envs.VLLM_RAY_BUNDLE_INDICES.split(",")]
            bundles = ray_utils.get_bundles_for_indices(group, indices, self.world_size)
        else:
            bundles = ray_utils.get_bundles_sorted_by_node(group)
        nodes = [node for _, node, _ in bundles]
        return [nodes[:rank].count(node) for rank, node in enumerate(nodes)]

    def _environment(self, rank: int) -> dict[str, str]:
        """Of one worker. Of accelerators that Ray knows it decides itself which one a worker sees."""
        parallel, local_rank = self.parallel_config, self._local_ranks[rank]
        at = placement.device_of(parallel, local_rank)
        worker = Worker(rank=rank, local_rank=local_rank, world_size=parallel.world_size, device=at)
        found = placement.environment(self._spec, worker)
        if self._spec.ray_resource in ray.get_runtime_context().get_accelerator_ids():
            found.pop(self._spec.visible_devices, None)
            found[placement.VARIABLE] = placement.Placement(worker=worker, index=0).model_dump_json()
        return found

    def shutdown(self) -> None:
        super().shutdown()
        if self._started_ray:
            self._started_ray = False
            ray.shutdown()


def passed_on(environ: Mapping[str, str]) -> dict[str, str]:
    """What the workers need of this process's environment before vLLM hands them all of it."""
    own = {placement.VARIABLE, *ray_utils.WORKER_SPECIFIC_ENV_VARS}
    return {name: value for name, value in environ.items() if name.startswith(PREFIXES) and name not in own}
