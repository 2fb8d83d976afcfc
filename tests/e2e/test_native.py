"""vLLM's own engine runs a real model on devices that are not in its tree, with the tokens of the CPU."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from accelplug_vllm.tiny import models
from asking import ask, missing
from processes import environment

from accelplug.sim import build
from tools.installing import install
from tools.server import serving

pytestmark = pytest.mark.e2e

PROGRAM = Path(__file__).with_name("greedy_tokens.py")
SEEDED = Path(__file__).with_name("seeded_tokens.py")
TESSERA = Path(__file__).parents[2] / "examples" / "tessera"
Said = dict[str, Any]


# Whose kernels take calls of a float32 model: Spyre's are for float16.
PROVIDERS = {"neuron": {"nki"}, "spyre": set[str]()}
NORMS = {
    "neuron": ["nki/rms_norm_isa", "nki/rms_norm_tile", "neuron/rms_norm", "native"],
    "spyre": ["spyre/rms_norm", "native"],
}


def calls_by_provider(said: Said) -> Counter[str]:
    calls = Counter[str]()
    for kernel in said["report"]["kernels"]:
        calls[kernel["kernel"].partition("/")[0]] += kernel["calls"]
    return calls


@pytest.fixture(scope="module")
def generate(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Said]:
    """Runs the program with these arguments and environment variables, in one process, and returns what it says.

    Where a device is live, ``report`` is what its ledger has at the end.
    """
    build.library()  # so that no run's time is that of building it
    folder = tmp_path_factory.mktemp("native")

    def run(model: Path = checkpoint, *arguments: object, program: Path = PROGRAM, **environ: str) -> Said:
        report = folder / "report.json"
        report.unlink(missing_ok=True)
        one_process = {"HF_HUB_OFFLINE": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "ACCELPLUG_REPORT": str(report)}
        command = [sys.executable, str(program), str(model), *map(json.dumps, arguments)]
        done = subprocess.run(
            command, env=environment(**one_process, **environ), cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-4000:]
        said: Said = json.loads(done.stdout.splitlines()[-1])
        return {**said, "report": json.loads(report.read_text()) if report.exists() else None}

    return run


@pytest.fixture(scope="module")
def on_the_cpu(generate: Callable[..., Said]) -> Said:
    """What vLLM's own platform for the CPU gives."""
    said = generate(ACCELPLUG_DEVICE="cpu")
    assert said["platform"][:2] == ["CPU", "cpu"]
    return said


@pytest.mark.parametrize("device", ["neuron", "spyre"])
def test_the_tokens_are_those_of_the_cpu(device: str, generate: Callable[..., Said], on_the_cpu: Said) -> None:
    said = generate(ACCELPLUG_SIMULATE=device)
    assert said["platform"] == ["OOT", device, "PrivateUse1"]
    assert said["devices"] == [f"{device}:0"], "the whole model and its cache are on the device"
    assert said["tokens"] == on_the_cpu["tokens"]
    assert {*calls_by_provider(said)} == PROVIDERS[device]
    runs = said["report"]["implementations"]
    assert runs["vllm.ir.fused_add_rms_norm"] == NORMS[device]
    assert {"SiluAndMul", "RotaryEmbedding"} <= {*runs}
    steps = said["report"]["steps"]
    assert steps["to_host_calls"] == steps["steps"], "only sampled tokens come back"
    # Of the six prompts four run at once, so requests also end and begin beside others that go on.
    assert steps["to_device_calls"] == steps["steps"], "and one tensor has all that a step needs"


def test_the_examples_chip_gives_them_with_its_own_attention_and_tiles(
    checkpoint: Path, tmp_path: Path, generate: Callable[..., Said], on_the_cpu: Said
) -> None:
    """examples/tessera: 32-wide, 32 bits of an int64, and attention through the hook."""
    said = generate(checkpoint, ACCELPLUG_SIMULATE="tessera", PYTHONPATH=install(TESSERA, into=tmp_path))
    assert said["platform"] == ["OOT", "tessera", "PrivateUse1"]
    assert said["tokens"] == on_the_cpu["tokens"]
    fell_back = {row["op"] for row in said["report"]["rows"]}
    assert fell_back <= {"aten::cos", "aten::sin", "aten::argmax", "aten::sort.stable"}, "the last when vLLM warms up"
    assert "aten::argmax" in fell_back, "the choice of each token, as the profile says"
    assert said["report"]["implementations"]["Attention"] == ["accelplug_tessera.attention.attend"]


LAYERS, EXTRA_NORM = 30, 1  # SmolLM2's, with two norms a layer


def test_single_layers_on_a_device_beside_a_model_on_the_cpu(
    checkpoint: Path, generate: Callable[..., Said], on_the_cpu: Said
) -> None:
    options = {"additional_config": {"accelplug": {"layers_on_device": ["RMSNorm", "SiluAndMul"]}}}
    said = generate(checkpoint, options, ACCELPLUG_DEVICE="cpu", ACCELPLUG_SIMULATE="neuron")
    assert said["platform"][:2] == ["CPU", "cpu"]
    assert said["devices"] == ["cpu", "neuron:0"], "the layers' weights are on the device"
    assert said["tokens"] == on_the_cpu["tokens"]
    assert {*said["report"]["implementations"]} == {"RMSNorm", "SiluAndMul"}
    assert calls_by_provider(said)["nki"] > 0
    norms = 2 * LAYERS + EXTRA_NORM
    there = 2 * norms - 1 + LAYERS  # all norms but the first take a residual besides
    steps = said["report"]["steps"]
    assert steps["to_device_calls"] == there * steps["steps"]
    assert steps["to_host_calls"] == there * steps["steps"]


@pytest.mark.parametrize("device", ["neuron", "spyre"])
def test_compiled_graphs_give_the_same_tokens(
    device: str, checkpoint: Path, generate: Callable[..., Said], on_the_cpu: Said
) -> None:
    compiled = {"accelplug": {"compile": True, "tokens": "16,64,128"}}
    said = generate(checkpoint, {"enforce_eager": False, "additional_config": compiled}, ACCELPLUG_SIMULATE=device)
    assert said["compiles"] == [9, 0], "three sizes of the first, the middle and the last layers; none in service"
    assert said["tokens"] == on_the_cpu["tokens"]


def test_drafts_from_n_grams_change_no_token(checkpoint: Path, generate: Callable[..., Said], on_the_cpu: Said) -> None:
    drafts = {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3, "prompt_lookup_min": 1}
    said = generate(checkpoint, {"speculative_config": drafts}, ACCELPLUG_SIMULATE="neuron")
    assert said["tokens"] == on_the_cpu["tokens"]


def test_a_seed_gives_the_same_tokens_whatever_runs_beside_it(generate: Callable[..., Said]) -> None:
    """Two of the prompts are longer than a step, and so are run in several."""
    prompts = [[7], [*range(4, 64)] * 3, [1, 5, 9], [*range(64, 4, -1)] * 3]
    said = generate(models.checkpoint("llama"), prompts, program=SEEDED, ACCELPLUG_SIMULATE="neuron")
    assert said["together"] == said["alone"]
    assert len({tuple(tokens) for tokens in said["alone"]}) == len(prompts), "they differ, so they show something"


def test_a_mixture_of_experts_says_what_transformers_says(tmp_path: Path, generate: Callable[..., Said]) -> None:
    import torch
    from transformers import MixtralConfig, MixtralForCausalLM

    torch.manual_seed(0)
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32}
    experts = {"num_local_experts": 4, "num_experts_per_tok": 2, "initializer_range": 0.2}
    sizes = {"vocab_size": 128, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}
    model = MixtralForCausalLM(MixtralConfig(**heads, **experts, **sizes, eos_token_id=None)).eval()
    model.save_pretrained(tmp_path)
    prompts = [[1, 5, 9, 20, 33], [*range(40, 80)], [7]]
    expected = [
        model.generate(torch.tensor([prompt]), max_new_tokens=16, do_sample=False)[0, len(prompt) :].tolist()
        for prompt in prompts
    ]
    said = generate(tmp_path, {}, prompts, ACCELPLUG_SIMULATE="neuron")
    assert said["tokens"] == expected


COUNTED = (
    'accelplug_bucket_hits_total{bucket="16",part="model"}',
    'accelplug_bucket_elements_total{kind="padding",part="model"}',
    'accelplug_compiles_total{part="model",when="service"} 0.0',
    'device="neuron"',
    'simulated="true"',
)


def test_it_serves_over_http_and_says_that_the_device_is_simulated(checkpoint: Path, tmp_path: Path) -> None:
    build.library()
    small = ("--max-model-len", "256", "--max-num-seqs", "4", "--enforce-eager", "--kv-cache-memory-bytes", "128M")
    environ = {"HF_HUB_OFFLINE": "1", "ACCELPLUG_SIMULATE": "neuron"}
    log = tmp_path / "log"
    arguments = ("--device", "auto", "--served-model-name", "model", *small)
    with serving(str(checkpoint), *arguments, log=log, environ=environ) as server:
        assert "Paris" in ask(server.url, "model")
        assert ask(server.url, "model", structured_outputs={"choice": ["red", "blue"]}) in ("red", "blue")
        assert not missing(server.url, *COUNTED)
    said = [line for line in log.read_text().splitlines() if "native mode on neuron" in line]
    assert len(said) == 1, "once for all processes"
    assert "device neuron (simulated), decided by ACCELPLUG_SIMULATE" in said[0]
