"""What takes too long for ``make test`` of several devices: copies of a model, stages, Ray on the CPU and in a server.

``make test-devices`` runs it.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI
from several import MARK, generate, left, marked, tiny_llama

from accelplug.sim import build
from tools.server import serving

pytestmark = pytest.mark.e2e

SMALL = ("--max-model-len", "256", "--max-num-seqs", "4", "--enforce-eager", "--kv-cache-memory-bytes", "64M")
STAGES = """
name = "acme"
title = "Acme"
torch_type = "acme"
devices = 2
"""


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    build.library()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_llama(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def on_the_cpu(tiny: Path) -> dict[str, Any]:
    return generate(tiny, {"ACCELPLUG_DEVICE": "cpu"}, skip_tokenizer_init=True)


def ask(url: str) -> str:
    client = OpenAI(base_url=f"{url}/v1", api_key="none", timeout=300)
    question = [{"role": "user", "content": "What is the capital of France?"}]
    answer = client.chat.completions.create(model="model", messages=question, temperature=0)  # type: ignore[arg-type]
    return answer.choices[0].message.content or ""


def test_two_copies_of_a_model_have_a_core_each(checkpoint: Path, tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    environ = {"HF_HUB_OFFLINE": "1", "ACCELPLUG_SIMULATE": "neuron", "NEURON_RT_VISIBLE_CORES": "2-3", MARK: mark}
    arguments = ("--device", "auto", "--served-model-name", "model", "--data-parallel-size", "2", *SMALL)
    with serving(str(checkpoint), *arguments, log=tmp_path / "log", environ=environ) as server:
        workers = [environ for _, environ in marked(mark) if "ACCELPLUG_PLACEMENT" in environ]
        assert sorted(environ["NEURON_RT_VISIBLE_CORES"] for environ in workers) == ["2", "3"]
        assert all("Paris" in ask(server.url) for _ in range(4)), "both copies are asked"
    assert left(mark) == []


def test_a_server_whose_workers_are_rays(checkpoint: Path, tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    environ = {"HF_HUB_OFFLINE": "1", "ACCELPLUG_SIMULATE": "neuron", "RAY_ADDRESS": "local", MARK: mark}
    ray = ("--tensor-parallel-size", "3", "--distributed-executor-backend", "ray")
    arguments = ("--device", "auto", "--served-model-name", "model", *ray, *SMALL)
    with serving(str(checkpoint), *arguments, log=tmp_path / "log", environ=environ) as server:
        assert "Paris" in ask(server.url)
    assert left(mark) == []


def test_two_stages_give_the_tokens_of_one(tiny: Path, tmp_path: Path, on_the_cpu: dict[str, Any]) -> None:
    (tmp_path / "acme.toml").write_text(STAGES)
    environ = {"ACCELPLUG_SIMULATE": str(tmp_path / "acme.toml")}
    said = generate(tiny, environ, skip_tokenizer_init=True, pipeline_parallel_size=2)
    assert said["tokens"] == on_the_cpu["tokens"]
    assert [worker["devices"] for worker in said["workers"]] == [["acme:0"], ["acme:1"]]


def test_ray_runs_workers_on_the_cpu_which_vllm_alone_refuses(tiny: Path, on_the_cpu: dict[str, Any]) -> None:
    said = generate(
        tiny,
        {"ACCELPLUG_DEVICE": "cpu", "VLLM_CPU_OMP_THREADS_BIND": "nobind"},
        skip_tokenizer_init=True,
        tensor_parallel_size=min(2, os.cpu_count() or 1),
        distributed_executor_backend="ray",
    )
    assert said["tokens"] == on_the_cpu["tokens"]
