"""The cpu platform's defaults: fewer processes, and OpenMP set up before EngineCore starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from accelplug_vllm import compat, contention, handoff, openmp, preload

from accelplug.specs import Host

OPENMP = (
    "OMP_NUM_THREADS",
    "OMP_WAIT_POLICY",
    "GOMP_CPU_AFFINITY",
    "OMP_PLACES",
    "OMP_PROC_BIND",
    "KMP_AFFINITY",
    "LD_PRELOAD",
)


@pytest.fixture
def config(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Makes the configuration of an engine for the real checkpoint, as ``vllm serve`` would."""
    monkeypatch.setattr(openmp, "cores_used_by_others", lambda: 0.0)
    for variable in (*OPENMP, "VLLM_CPU_OMP_THREADS_BIND"):
        monkeypatch.setenv(variable, "")  # so that what vLLM sets is taken away after the test
        monkeypatch.delenv(variable)

    def make(**arguments: object) -> Any:
        from vllm.engine.arg_utils import EngineArgs
        from vllm.platforms import current_platform

        assert type(current_platform).__name__ == "AccelplugCpuPlatform"
        handoff.leave(handoff.Handoff(device="cpu", pid=os.getpid()))
        small = {"enforce_eager": True, "max_model_len": 256}
        return EngineArgs(model=str(checkpoint), **small, **arguments).create_engine_config()

    return make


def executor(config: Any) -> object:
    return config.parallel_config.distributed_executor_backend


def test_one_worker_runs_inside_engine_core(config: Callable[..., Any]) -> None:
    assert executor(config()) == "uni"


def test_one_setting_gives_vllms_own_defaults_back(config: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELPLUG_CPU_DEFAULTS", "off")
    assert executor(config()) == "mp"
    assert "OMP_NUM_THREADS" not in os.environ


def test_an_executor_that_was_asked_for_is_kept(config: Callable[..., Any]) -> None:
    assert executor(config(distributed_executor_backend="mp")) == "mp"


def test_vllm_updates_a_configuration_twice_and_the_second_time_changes_nothing(config: Callable[..., Any]) -> None:
    made = config()
    environment = dict(os.environ)
    made.__post_init__()
    assert executor(made) == "uni"
    assert dict(os.environ) == environment


def machine(monkeypatch: pytest.MonkeyPatch, nodes: int, cores: int, threads: int = 2) -> None:
    """Makes vLLM see a machine of that many NUMA nodes, physical cores a node, and hardware threads a core."""
    from vllm.utils import cpu_resource_utils
    from vllm.utils.cpu_resource_utils import LogicalCPUInfo

    total = nodes * cores
    cpus = [
        LogicalCPUInfo(id=thread * total + core, physical_core=core, numa_node=core // cores)
        for thread in range(threads)
        for core in range(total)
    ]
    monkeypatch.setattr(cpu_resource_utils, "get_allowed_cpu_list", lambda: cpus)
    monkeypatch.setattr(cpu_resource_utils, "get_visible_memory_node", lambda: list(range(nodes)))


def test_on_many_cores_threads_are_bound_to_one_node_one_a_core_and_one_core_is_kept_free(
    config: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, nodes=2, cores=32)
    config()
    second_threads = [*range(64, 96)]  # one hardware thread of each core of the first node
    assert os.environ["OMP_NUM_THREADS"] == "31"
    assert os.environ["GOMP_CPU_AFFINITY"] == " ".join(map(str, second_threads[:-1]))
    left = handoff.left()
    assert left is not None
    assert left.helper_cpus == (95,)


def test_on_few_cores_threads_use_all_of_them_and_float(
    config: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, nodes=1, cores=4)
    config()
    assert os.environ["OMP_NUM_THREADS"] == "4"
    assert "GOMP_CPU_AFFINITY" not in os.environ


def test_a_users_own_binding_is_kept(config: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, nodes=2, cores=32)
    monkeypatch.setenv("VLLM_CPU_OMP_THREADS_BIND", "3,5-7")
    config()
    assert os.environ["GOMP_CPU_AFFINITY"] == "3 5 6 7"


def test_a_user_who_wants_no_binding_gets_none(config: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, nodes=2, cores=32)
    monkeypatch.setenv("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    config()
    assert "GOMP_CPU_AFFINITY" not in os.environ
    assert "OMP_NUM_THREADS" not in os.environ


def test_threads_spin_while_they_wait_on_a_machine_of_their_own(config: Callable[..., Any]) -> None:
    config()
    assert "OMP_WAIT_POLICY" not in os.environ


def test_threads_sleep_while_they_wait_where_other_processes_want_the_cores(
    config: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(openmp, "cores_used_by_others", lambda: 1.3)
    config()
    assert os.environ["OMP_WAIT_POLICY"] == "passive"
    assert "other processes use 1.3 cores" in caplog.text


def test_a_users_own_wait_policy_is_kept(config: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openmp, "cores_used_by_others", lambda: 1.3)
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    config()
    assert os.environ["OMP_WAIT_POLICY"] == "active"


def test_what_others_use_is_what_they_use_beside_this_process() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            assert contention.cores_used_by_others.__wrapped__() > 0.3
        finally:
            busy.kill()


ENGINE_CORE = """
import json, multiprocessing, os, sys, threading

def core():
    import torch  # loads OpenMP, which binds the main thread
    from accelplug_vllm import openmp
    torch.ones(1 << 22).add_(1)  # starts the compute threads
    openmp.release_helper_threads()
    helper = threading.Thread(target=lambda: seen.append(sorted(os.sched_getaffinity(0))))
    seen = []
    helper.start(); helper.join()
    compute = {t: sorted(os.sched_getaffinity(int(t))) for t in os.listdir("/proc/self/task")}
    print(json.dumps({"helper": seen[0], "compute": sorted(compute.values())}))

if __name__ == "__main__":
    from accelplug_vllm import handoff
    first, last = sorted(os.sched_getaffinity(0))[::len(os.sched_getaffinity(0)) - 1]
    handoff.leave(handoff.Handoff(device="cpu", pid=os.getpid(), helper_cpus=(last,)))
    os.environ.update(OMP_NUM_THREADS="2", GOMP_CPU_AFFINITY=f"{first} {last}", LD_PRELOAD=sys.argv[1])
    process = multiprocessing.get_context("spawn").Process(target=core)
    process.start(); process.join(); sys.exit(process.exitcode)
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs to tell compute from helper threads")
def test_the_threads_really_get_that_affinity(tmp_path: Path) -> None:
    (tmp_path / "engine_core.py").write_text(ENGINE_CORE)
    library = preload.openmp(Host())
    assert library is not None
    done = subprocess.run(
        [sys.executable, str(tmp_path / "engine_core.py"), library], capture_output=True, text=True, check=True
    )
    seen = json.loads(done.stdout)
    cpus = sorted(os.sched_getaffinity(0))
    first, last = cpus[0], cpus[-1]
    assert [last] in seen["compute"], "a compute thread is bound to the last core"
    assert [first, last] in seen["compute"], "the main thread may use its own core and the helpers'"
    assert seen["helper"] == [first, last], "a new thread is not confined to the main thread's core"


def test_a_vllm_without_the_manager_is_left_to_start_its_worker_itself(
    config: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compat, "works", lambda part: part is not compat.CPU_DEFAULTS)
    assert executor(config()) == "mp"
