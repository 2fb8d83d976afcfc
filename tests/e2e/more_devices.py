"""What takes too long for ``make test`` of several devices: the executors with and without compiling, data parallel,
stages, Ray in a server and on the CPU, and how far 16 bits agree.

``make test-devices`` runs it.
"""

from __future__ import annotations

import os
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from asking import ask
from lost_requests import lose
from marked_processes import left, marked, marks
from prometheus_client.parser import text_string_to_metric_families
from several import generate
from tiny_models import tiny_llama, tiny_mixtral

from accelplug.sim import build
from tools.server import serving

pytestmark = pytest.mark.e2e

Said = dict[str, Any]

SMALL = ("--max-model-len", "256", "--max-num-seqs", "4", "--enforce-eager", "--kv-cache-memory-bytes", "64M")
WITHOUT_TOKENIZER = {"skip_tokenizer_init": True}
SIZES = 2
HOW: dict[str, dict[str, Any]] = {
    "eager": {},
    "compiled": {"enforce_eager": False, "additional_config": {"accelplug": {"compile": True, "tokens": "32,128"}}},
}
TWO_CARDS = 'base = "spyre"\ndevices = 2\n'
ANY = 'name = "acme"\ntitle = "Acme"\ndevices = 2\n'  # a device whose backend refuses nothing


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    build.library()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_llama(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def experts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_mixtral(tmp_path_factory.mktemp("experts"))


@pytest.fixture(scope="module")
def smollm2_on_the_cpu(checkpoint: Path) -> Said:
    """What vLLM's own platform for the CPU gives, with one worker; below too."""
    return generate(checkpoint, {"ACCELPLUG_DEVICE": "cpu"})


@pytest.fixture(scope="module")
def tiny_on_the_cpu(tiny: Path) -> Said:
    return generate(tiny, {"ACCELPLUG_DEVICE": "cpu"}, **WITHOUT_TOKENIZER)


@pytest.fixture(scope="module")
def experts_on_the_cpu(experts: Path) -> Said:
    return generate(experts, {"ACCELPLUG_DEVICE": "cpu"}, **WITHOUT_TOKENIZER)


def check_compiles(said: Said, how: str) -> None:
    """Compiled, each worker warmed all sizes up and compiled nothing in service; eagerly, nothing at all."""
    for worker in said["workers"]:
        made, in_service = worker["compiles"]
        assert in_service == 0
        assert made % SIZES == 0
        assert (made > 0) is (how == "compiled")


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize(
    ("device", "workers", "executor"),
    [
        ("neuron", 1, "uni"),
        ("neuron", 1, "mp"),
        ("neuron", 1, "ray"),
        ("neuron", 3, "mp"),
        ("neuron", 3, "ray"),
        ("spyre", 1, "uni"),
    ],
)
def test_smollm2_says_the_same_under_each_executor(
    device: str, workers: int, executor: str, how: str, checkpoint: Path, smollm2_on_the_cpu: Said
) -> None:
    options = {"tensor_parallel_size": workers, "distributed_executor_backend": executor, **HOW[how]}
    said = generate(checkpoint, {"ACCELPLUG_SIMULATE": device}, **options)
    assert said["tokens"] == smollm2_on_the_cpu["tokens"]
    assert len({worker["pid"] for worker in said["workers"]}) == workers
    check_compiles(said, how)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("executor", ["mp", "ray"])
def test_two_workers_on_cards_that_each_of_them_sees(
    executor: str, how: str, tiny: Path, tmp_path: Path, tiny_on_the_cpu: Said
) -> None:
    (tmp_path / "two.toml").write_text(TWO_CARDS)
    options = {"tensor_parallel_size": 2, "distributed_executor_backend": executor, **HOW[how], **WITHOUT_TOKENIZER}
    said = generate(tiny, {"ACCELPLUG_SIMULATE": str(tmp_path / "two.toml")}, **options)
    assert said["tokens"] == tiny_on_the_cpu["tokens"]
    assert [worker["devices"] for worker in said["workers"]] == [["spyre:0"], ["spyre:1"]]
    assert [worker["rank"] for worker in said["workers"]] == ["0", "1"], "what the vendor wants in the environment"
    check_compiles(said, how)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_mixture_of_experts_is_compiled(workers: int, experts: Path, experts_on_the_cpu: Said) -> None:
    options = {"tensor_parallel_size": workers, **HOW["compiled"], **WITHOUT_TOKENIZER}
    said = generate(experts, {"ACCELPLUG_SIMULATE": "neuron"}, **options)
    assert said["tokens"] == experts_on_the_cpu["tokens"]
    check_compiles(said, "compiled")


@pytest.mark.parametrize(("device", "dtype"), [("neuron", "bfloat16"), ("spyre", "float16")])
def test_in_16_bits_most_tokens_are_those_of_the_cpu(device: str, dtype: str, checkpoint: Path) -> None:
    """The CPU's kernels round elsewhere, and near ties fall apart. ``pytest -s`` shows the share."""
    here = generate(checkpoint, {"ACCELPLUG_SIMULATE": device}, dtype=dtype)["tokens"]
    there = generate(checkpoint, {"ACCELPLUG_DEVICE": "cpu"}, dtype=dtype)["tokens"]
    pairs = [(a, b) for ours, theirs in zip(here, there, strict=True) for a, b in zip(ours, theirs, strict=False)]
    share = sum(a == b for a, b in pairs) / len(pairs)
    whole = sum(ours == theirs for ours, theirs in zip(here, there, strict=True))
    print(f"{device} {dtype}: {share:.3f} of {len(pairs)} tokens, {whole} of {len(here)} answers")
    assert share > 0.5


def answering(url: str) -> set[str]:
    """The engines of a server that have answered something."""
    with urllib.request.urlopen(f"{url}/metrics") as answer:
        families = [*text_string_to_metric_families(answer.read().decode())]
    samples = [sample for family in families for sample in family.samples if sample.value]
    return {sample.labels["engine"] for sample in samples if sample.name == "vllm:generation_tokens_total"}


def test_two_copies_of_a_model_have_a_core_each(checkpoint: Path, tmp_path: Path) -> None:
    mark = marks()
    environ = {"HF_HUB_OFFLINE": "1", "ACCELPLUG_SIMULATE": "neuron", "NEURON_RT_VISIBLE_CORES": "2-3", **mark}
    arguments = ("--device", "auto", "--served-model-name", "model", "--data-parallel-size", "2", *SMALL)
    with serving(str(checkpoint), *arguments, log=tmp_path / "log", environ=environ) as server:
        workers = [own for command, own in marked(mark) if command.startswith("VLLM::Worker")]
        assert sorted(own["NEURON_RT_VISIBLE_CORES"] for own in workers) == ["2", "3"]
        assert all("Paris" in ask(server.url, "model") for _ in range(4))
        assert answering(server.url) == {"0", "1"}, "both copies are asked"
    assert left(mark) == []


def test_a_server_whose_workers_are_rays(checkpoint: Path, tmp_path: Path) -> None:
    mark = marks()
    environ = {"HF_HUB_OFFLINE": "1", "ACCELPLUG_SIMULATE": "neuron", "RAY_ADDRESS": "local", **mark}
    ray = ("--tensor-parallel-size", "3", "--distributed-executor-backend", "ray")
    # In bfloat16 three workers, each of which rounds its part of a sum, find two first tokens equally likely.
    arguments = ("--device", "auto", "--served-model-name", "model", "--dtype", "float32", *ray, *SMALL)
    with serving(str(checkpoint), *arguments, log=tmp_path / "log", environ=environ) as server:
        assert "Paris" in ask(server.url, "model")
    assert left(mark) == []


def test_one_lost_device_of_three_ends_the_requests_of_all(checkpoint: Path, tmp_path: Path) -> None:
    """The worker that has it ends: the two others wait for it in a collective."""
    profile, mark = tmp_path / "neuron.toml", marks()
    profile.write_text(f'base = "neuron"\n[faults]\nlost_with_file = "{tmp_path}/gone-{{n}}"\n')
    environ = {"HF_HUB_OFFLINE": "1", "ACCELPLUG_SIMULATE": str(profile), "NEURON_RT_VISIBLE_CORES": "1-3", **mark}
    arguments = ("--device", "auto", "--served-model-name", "model", "--tensor-parallel-size", "3", *SMALL)
    with serving(str(checkpoint), *arguments, log=tmp_path / "log", environ=environ) as server:
        lost = lose(server, tmp_path / "gone-2")
    assert lost.status == 503
    assert "is lost" in lost.whole
    assert len(lost.last_words) == 1
    assert left(mark) == []


def test_two_stages_give_the_tokens_of_one(tiny: Path, tmp_path: Path, tiny_on_the_cpu: Said) -> None:
    (tmp_path / "acme.toml").write_text(ANY)
    environ = {"ACCELPLUG_SIMULATE": str(tmp_path / "acme.toml")}
    said = generate(tiny, environ, pipeline_parallel_size=2, **WITHOUT_TOKENIZER)
    assert said["tokens"] == tiny_on_the_cpu["tokens"]
    assert [worker["devices"] for worker in said["workers"]] == [["acme:0"], ["acme:1"]]


def test_ray_runs_workers_on_the_cpu_which_vllm_alone_refuses(tiny: Path, tiny_on_the_cpu: Said) -> None:
    said = generate(
        tiny,
        {"ACCELPLUG_DEVICE": "cpu", "VLLM_CPU_OMP_THREADS_BIND": "nobind"},
        tensor_parallel_size=min(2, os.cpu_count() or 1),
        distributed_executor_backend="ray",
        **WITHOUT_TOKENIZER,
    )
    assert said["tokens"] == tiny_on_the_cpu["tokens"]
