"""OpenMP's threads in EngineCore when the worker runs inside it: how many, and on which cores.

A process reads this environment when it loads the OpenMP library, so it is set in the parent before EngineCore starts.
vLLM's own ``OMPProcessManager`` picks the cores (NUMA node, one logical CPU a physical core,
``VLLM_CPU_OMP_THREADS_BIND``); what differs is who needs a core besides the compute threads.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from accelplug_vllm import handoff
from accelplug_vllm.contention import cores_used_by_others

if TYPE_CHECKING:
    from vllm.config import VllmConfig

THREADS, WAIT_POLICY = "OMP_NUM_THREADS", "OMP_WAIT_POLICY"

# vLLM reserves one core for the scheduler's process. Here the scheduler shares the main thread with the model, so a
# core is kept free only for the API server and the socket threads, and only where one core is a small part of all.
RESERVE_FROM = 8

# Cores that other processes use at start, from which spinning threads lose more than they gain.
BUSY_FROM = 0.5


def prepare(vllm_config: VllmConfig) -> list[str]:
    """Sets the environment for EngineCore; says what it set. Leaves a user's own binding as it is."""
    from vllm.utils.ompmultiprocessing import OMPProcessManager

    manager = OMPProcessManager(vllm_config)
    if manager.skip_setup:
        return []
    if manager.auto_setup:
        cores = sorted([*manager.cpu_lists[0], *manager.reserved_cpu_list])
        if len(cores) < RESERVE_FROM:
            os.environ.setdefault(THREADS, str(len(cores)))
            threads = f"{os.environ[THREADS]} OpenMP threads, not bound (fewer than {RESERVE_FROM} cores)"
            return [threads, *wait_policy()]
    os.environ.update(bound(manager))
    _leave_helpers(tuple(manager.reserved_cpu_list))
    return [f"OpenMP threads bound to CPUs {','.join(map(str, manager.cpu_lists[0]))}", *wait_policy()]


def bound(manager: Any) -> dict[str, str]:
    """The variables that vLLM's manager sets around the start of a worker process."""
    before = dict(os.environ)
    with manager.configure_omp_envs(rank=0, local_rank=0):
        return {name: value for name, value in os.environ.items() if before.get(name) != value}


def release_helper_threads() -> None:
    """In EngineCore: lets the main thread, and all threads it starts, use the helpers' CPUs besides its own.

    OpenMP has bound the main thread to the first compute core, and a new thread inherits the binding of the one that
    starts it: the socket threads would compete with the computation on that core while the kept ones idle.
    """
    inherited = handoff.received()
    if inherited is None or not inherited.helper_cpus:
        return
    main = os.sched_getaffinity(0)
    for thread in map(int, os.listdir("/proc/self/task")):
        if os.sched_getaffinity(thread) == main:
            os.sched_setaffinity(thread, main | set(inherited.helper_cpus))


def wait_policy() -> list[str]:
    """Lets threads sleep at once, not spin, where other processes want the cores.

    Threads that spin for one which another process has pushed off its core are fast on a machine of their own, and many
    times slower than sleeping ones on a busy machine.
    """
    others = cores_used_by_others()
    if others < BUSY_FROM or WAIT_POLICY in os.environ:
        return []
    os.environ[WAIT_POLICY] = "passive"
    return [f"threads sleep while they wait (other processes use {others:.1f} cores)"]


def _leave_helpers(cpus: tuple[int, ...]) -> None:
    left = handoff.left()
    if left is not None:
        handoff.leave(left.model_copy(update={"helper_cpus": cpus}))
