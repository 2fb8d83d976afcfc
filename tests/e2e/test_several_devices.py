"""A model over several simulated devices, under vLLM's executors ``mp`` and ``ray``.

What takes longer is in more_devices.py, behind ``make test-devices``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from several import expected, generate
from tiny_models import tiny_llama

from accelplug.sim import build

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    build.library()  # so that no run's time is that of building it


def test_three_workers_answer_as_transformers_each_on_a_core_of_its_own(checkpoint: Path) -> None:
    """SmolLM2 has 9 heads and 3 KV heads. The cores are three of the four that one Trainium2 device has."""
    environ = {"ACCELPLUG_SIMULATE": "neuron", "NEURON_RT_VISIBLE_CORES": "1,2,3"}
    said = generate(checkpoint, environ, tensor_parallel_size=3)
    assert said["tokens"] == expected(checkpoint)
    assert sorted(worker["core"] for worker in said["workers"]) == ["1", "2", "3"]
    assert all(worker["devices"] == ["neuron:0"] for worker in said["workers"]), "the only one that it sees"
    assert all(worker["sees"] == 1 for worker in said["workers"])
    assert len({worker["pid"] for worker in said["workers"]}) == 3


def test_rays_workers_do_too_on_cards_that_each_of_them_sees(tmp_path: Path) -> None:
    model = tiny_llama(tmp_path / "model")
    (tmp_path / "two.toml").write_text('base = "spyre"\ndevices = 2\n')
    options = {"tensor_parallel_size": 2, "distributed_executor_backend": "ray", "skip_tokenizer_init": True}
    said = generate(model, {"ACCELPLUG_SIMULATE": str(tmp_path / "two.toml")}, **options)
    assert said["tokens"] == expected(model)
    assert [worker["devices"] for worker in said["workers"]] == [["spyre:0"], ["spyre:1"]]
    assert [worker["rank"] for worker in said["workers"]] == ["0", "1"], "what the vendor wants in the environment"


def test_a_cluster_with_too_few_devices_is_an_error_and_not_waited_for() -> None:
    code = "from accelplug_vllm import ray_cluster; ray_cluster.join('neuron_cores', 1, 2)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert "2 workers take one 'neuron_cores' of Ray's each, and this machine has 1" in done.stderr
    assert "accelplug ray-resources" in done.stderr
