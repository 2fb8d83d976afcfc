"""The Ray cluster that workers run in: one that is there, or one of this machine's own."""

from __future__ import annotations

import os
from typing import Any

import ray

from accelplug.errors import AccelplugError

ADDRESS = "RAY_ADDRESS"
CPU = "CPU"


def join(resource: str, here: int, needed: int, runtime_env: Any = None) -> bool:
    """Connects to a cluster that has ``needed`` of a resource. True where it had to be started on this machine.

    The cluster is the one that this process is in, else that of ``RAY_ADDRESS``, else one that runs on this machine,
    else a new one with the ``here`` devices of this machine. Raises AccelplugError where there are too few, which Ray
    would wait for.
    """
    started = False
    if not ray.is_initialized():
        started = _init(resource, here, runtime_env)
    there = int(ray.cluster_resources().get(resource, 0))
    if there >= needed:
        return started
    if started:
        ray.shutdown()
    where = "this machine has" if started else "the Ray cluster has"
    raise AccelplugError(
        f"--distributed-executor-backend ray: {needed} workers take one {resource!r} of Ray's each, and {where} "
        f"{there}; start its nodes with what `accelplug ray-resources` prints there, or take fewer workers"
    )


def _init(resource: str, here: int, runtime_env: Any) -> bool:
    """Returns whether it started a cluster. An address that is given has to answer."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # as vLLM does
    address = os.environ.get(ADDRESS, "")
    if address != "local":
        try:
            ray.init("auto", runtime_env=runtime_env)
            return False
        except ConnectionError:
            if address:
                raise
    resources = None if resource == CPU else {resource: here}  # Ray counts the CPUs itself
    ray.init("local", resources=resources, runtime_env=runtime_env, include_dashboard=False)
    return True
