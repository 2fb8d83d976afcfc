"""A model over several simulated devices, under each of vLLM's executors, with the tokens of the CPU.

What takes longer is in more_devices.py, behind ``make test-devices``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from several import generate, tiny_llama

from accelplug.sim import build

pytestmark = pytest.mark.e2e

Said = dict[str, Any]


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    build.library()  # so that no run's time is that of building it


@pytest.fixture(scope="module")
def on_the_cpu(checkpoint: Path) -> Said:
    """What vLLM's own platform for the CPU gives, with one worker."""
    return generate(checkpoint, {"ACCELPLUG_DEVICE": "cpu"})


@pytest.mark.parametrize("executor", ["mp", "ray"])
def test_three_workers_give_the_tokens_of_the_cpu_each_on_a_core_of_its_own(
    executor: str, checkpoint: Path, on_the_cpu: Said
) -> None:
    """SmolLM2 has 9 heads and 3 KV heads. The cores are three of the four that one Trainium2 device has."""
    options = {"tensor_parallel_size": 3, "distributed_executor_backend": executor}
    environ = {"ACCELPLUG_SIMULATE": "neuron", "NEURON_RT_VISIBLE_CORES": "1,2,3"}
    said = generate(checkpoint, environ, **options)
    assert said["tokens"] == on_the_cpu["tokens"]
    assert sorted(worker["core"] for worker in said["workers"]) == ["1", "2", "3"]
    assert all(worker["devices"] == ["neuron:0"] for worker in said["workers"]), "the only one that it sees"
    assert all(worker["sees"] == 1 for worker in said["workers"])
    assert len({worker["pid"] for worker in said["workers"]}) == 3


def test_two_workers_on_cards_that_each_of_them_sees(tmp_path: Path) -> None:
    model = tiny_llama(tmp_path / "model")
    (tmp_path / "two.toml").write_text('base = "spyre"\ndevices = 2\n')
    one = generate(model, {"ACCELPLUG_DEVICE": "cpu"}, skip_tokenizer_init=True)
    environ = {"ACCELPLUG_SIMULATE": str(tmp_path / "two.toml")}
    two = generate(model, environ, skip_tokenizer_init=True, tensor_parallel_size=2)
    assert two["tokens"] == one["tokens"]
    assert [worker["devices"] for worker in two["workers"]] == [["spyre:0"], ["spyre:1"]]
    assert [worker["rank"] for worker in two["workers"]] == ["0", "1"], "what the vendor wants in the environment"


def test_a_cluster_with_too_few_devices_is_an_error_and_not_waited_for() -> None:
    code = "from accelplug_vllm import ray_cluster; ray_cluster.join('neuron_cores', 1, 2)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert "2 workers take one 'neuron_cores' of Ray's each, and this machine has 1" in done.stderr
    assert "accelplug ray-resources" in done.stderr
