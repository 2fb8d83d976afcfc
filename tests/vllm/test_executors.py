"""Which executors workers run under: case C21, and what needs a process of its own."""

from __future__ import annotations

from typing import Any

import accelplug_neuron
import pytest
from accelplug_vllm import executors

from accelplug.builtin import accelerator, cpu
from accelplug.errors import BadInputError
from accelplug.specs import DeviceSpec

pytest.importorskip("ray")

CPU = cpu.accelplug_device()
NEURON = accelplug_neuron.accelplug_device()


def checked(spec: DeviceSpec, **options: Any) -> Any:
    """The executor in vLLM's configuration after the check."""
    from vllm.config import ParallelConfig

    config = ParallelConfig(**options)
    executors.check(config, spec)
    executors.check(config, spec)  # vLLM asks several times
    return config.distributed_executor_backend


@pytest.mark.parametrize("spec", [CPU, NEURON], ids=lambda spec: spec.name)
def test_ray_works_where_the_backend_names_a_resource_cpu_included(spec: DeviceSpec) -> None:
    from accelplug_vllm.ray_executor import RayExecutor

    assert checked(spec, distributed_executor_backend="ray") is RayExecutor


def test_ray_without_a_resource_is_an_error_that_names_the_field() -> None:
    spec = accelerator.mps.accelplug_device()
    with pytest.raises(BadInputError, match=r"-backend ray: .*Apple MPS.*DeviceSpec\.ray_resource"):
        checked(spec, distributed_executor_backend="ray")


@pytest.mark.parametrize("executor", ["mp", "uni"])
def test_other_executors_stay(executor: str) -> None:
    assert checked(NEURON, distributed_executor_backend=executor) == executor


def test_copies_in_processes_that_already_run_are_refused_where_each_needs_an_environment() -> None:
    options = {"distributed_executor_backend": "uni", "data_parallel_size": 2}
    with pytest.raises(BadInputError, match=r"uni with --data-parallel-size 2: .*; give .* mp"):
        checked(NEURON, **options)
    assert checked(CPU, **options) == "uni"


def test_copies_of_engine_core_through_ray_are_refused() -> None:
    with pytest.raises(BadInputError, match="--data-parallel-backend ray"):
        checked(NEURON, data_parallel_size=2, data_parallel_backend="ray", distributed_executor_backend="mp")


def test_rays_workers_get_what_they_need_before_they_import_anything_and_nothing_that_is_another_workers() -> None:
    from accelplug_vllm.ray_executor import passed_on

    needed = {"ACCELPLUG_SIMULATE": "neuron", "VLLM_LOGGING_LEVEL": "DEBUG", "HF_HUB_OFFLINE": "1"}
    own = {"ACCELPLUG_PLACEMENT": "{}", "VLLM_HOST_IP": "10.0.0.1", "PATH": "/bin"}
    assert passed_on(needed | own) == needed
