"""A vendor's hooks shape vLLM's configuration, and what the device can't do is refused at start."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import programs
import pytest
from accelplug_vllm.native import configuration
from backend_site import Site

from accelplug.errors import BadInputError
from accelplug.specs import Constraints

PROFILE = """
name = "acme"
torch_type = "acme"
devices = 2
dtypes = ["bool", "uint8", "int8", "int32", "int64", "float16", "float32"]
casts = { float64 = "float32" }
[sdk]
distribution = "acme-sdk"
version = "1.0"
module = "acme_sdk"
"""
BACKEND = """
from accelplug.hookspecs import hookimpl
from accelplug.specs import AttentionSpec, Capabilities, Constraints, DeviceSpec, Feature, PlatformSpec, Probe

def load():
    import acme_sdk

@hookimpl
def accelplug_device():
    probe = lambda host: Probe(verdict="usable", reason="2 cards", count=2)
    names = {"name": "acme", "title": "Acme One", "torch_type": "acme", "distributed_backend": "acmeccl"}
    return DeviceSpec(probe=probe, load=load, **names)

@hookimpl
def accelplug_constraints(probe):
    dtypes = ("bool", "uint8", "int32", "int64", "float16", "float32")
    return Constraints(dtypes=dtypes, casts={"float64": "float32"}, preferred_dtype="float16", head_multiple=32)

@hookimpl
def accelplug_capabilities(probe):
    cannot = {
        Feature.tensor_parallel: "cards can't reach each other",
        Feature.lora: "weights are compiled in",
        Feature.prefix_caching: "blocks are never shared",
        Feature.chunked_prefill: "prompts are compiled whole",
    }
    return Capabilities(cannot=cannot, quantization=("gptq",))

@hookimpl
def accelplug_attention(attn_type, config):
    assert config.model_config.max_model_len == 64
    return AttentionSpec(kv_layout="LBHNC", block_sizes=(16, 64))

@hookimpl
def accelplug_platform(config):
    worker = "acme_sdk.Worker" if "acme" in config.additional_config else ""
    return PlatformSpec(communicator="acme_sdk.Ring", worker=worker)
"""
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "tensor parallel": {"tensor_parallel_size": 2},
    "LoRA": {"enable_lora": True},
    "bfloat16": {"dtype": "bfloat16"},
    "quantised": {"quantization": "fp8"},
    "ray": {"distributed_executor_backend": "ray"},
    "n-grams": {"speculative_config": {"method": "ngram", "num_speculative_tokens": 2, "prompt_lookup_max": 3}},
    "draft model": {"speculative_config": {"method": "draft_model", "num_speculative_tokens": 2, "model": "THE MODEL"}},
    "sleep": {"enable_sleep_mode": True},
    "narrow cache": {"kv_cache_dtype": "fp8"},
    "two batches": {"ubatch_size": 2},
    "fast prefill": {"kv_sharing_fast_prefill": True},
    "moving the cache": {"kv_transfer_config": {"kv_connector": "ExampleConnector", "kv_role": "kv_both"}},
    "offloading the cache": {"kv_offloading_size": 1.0},
    "offloading weights": {"cpu_offload_gb": 1.0},
    "fetching weights": {"offload_group_size": 2},
    "sending weights": {"weight_transfer_config": {"backend": "nccl"}},
    "watermarks": {"watermark_config": {"algorithm": "gumbel", "key": 1}},
    "V2 runner": {"environ": {"VLLM_USE_V2_MODEL_RUNNER": "1"}},
    "markers": {"enable_layerwise_nvtx_tracing": True},
    "fast loading": {"load_format": "fastsafetensors"},
    "context parallel": {"decode_context_parallel_size": 2, "tensor_parallel_size": 2},
    "vendor's worker": {"additional_config": {"acme": {}}, "enable_sleep_mode": True, "cpu_offload_gb": 1.0},
    "vendor's worker, LoRA": {"additional_config": {"acme": {}}, "enable_lora": True},
    "experts, LoRA": {"model": "THE MIXTURE", "enable_lora": True},
    "experts, copies": {"model": "THE MIXTURE", "data_parallel_size": 2},
    "sparse attention": {"hf_overrides": {"index_topk": 8}},
    "state space": {"model": "THE MAMBA"},
    "two": {"tensor_parallel_size": 2, "enable_lora": True},
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict[str, Any]], str]:
    """What vLLM makes of each case, all of them in one process of its own, and its log."""
    from transformers import MambaConfig, MixtralConfig

    folder = tmp_path_factory.mktemp("acme")
    Site(folder).module("acme", BACKEND)
    (folder / "profile.toml").write_text(PROFILE)
    model = programs.tiny_llama(folder / "model")
    MixtralConfig(architectures=["MixtralForCausalLM"], hidden_size=64).save_pretrained(folder / "mixture")
    MambaConfig(architectures=["MambaForCausalLM"], hidden_size=64).save_pretrained(folder / "mamba")
    environ = {
        "ACCELPLUG_SIMULATE": str(folder / "profile.toml"),
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": str(folder),
    }
    cases = json.dumps([*CASES.values()])
    for name in ("model", "mixture", "mamba"):
        cases = cases.replace(f"THE {name.upper()}", str(folder / name))
    found, log = programs.run("native_configurations.py", str(model), cases, cwd=folder, **environ)
    return dict(zip(CASES, found, strict=True)), log


@pytest.fixture(scope="module")
def said(ran: tuple[dict[str, dict[str, Any]], str]) -> dict[str, dict[str, Any]]:
    return ran[0]


@pytest.fixture(scope="module")
def log(ran: tuple[dict[str, dict[str, Any]], str]) -> str:
    return ran[1]


def test_the_platform_is_the_device(said: dict[str, dict[str, Any]]) -> None:
    plain = said["plain"]
    assert plain["device"] == "acme"
    assert plain["worker"] == "accelplug_vllm.native.worker.NativeWorker"
    assert plain["communicator"] == "acme_sdk.Ring", "from the vendor's hook"


def test_attention_is_shaped_by_the_vendors_hooks(said: dict[str, dict[str, Any]]) -> None:
    plain = said["plain"]
    assert plain["kv_layouts"] == ["LBHNC"]
    assert plain["block_sizes"] == [16, 64]
    assert plain["head_sizes"] == [32, 64, 96, 128], "from the constraints, as the hook leaves it open"


def test_where_nobody_asks_for_a_dtype_the_preferred_one_is_taken(said: dict[str, dict[str, Any]]) -> None:
    assert said["plain"]["dtypes"] == ["torch.float16", "torch.float32"]
    assert said["plain"]["dtype"] == "torch.float16"


def test_a_dtype_that_the_device_lacks_is_refused_with_those_it_has(said: dict[str, dict[str, Any]]) -> None:
    assert said["bfloat16"]["error"] == (
        "BadInputError: --dtype bfloat16: Acme One has no such tensors; "
        "it can run models in float16, float32: give --dtype float16"
    )


@pytest.mark.parametrize(
    ("case", "error"),
    [
        ("tensor parallel", "--tensor-parallel-size: not on Acme One: cards can't reach each other; leave it at 1"),
        ("LoRA", "--enable-lora: not on Acme One: weights are compiled in; merge the adapter into the model"),
        (
            "quantised",
            "--quantization: not on Acme One: it runs gptq with weights of 4 or 8 bits, and this is fp8; use a",
        ),
        ("sleep", "--enable-sleep-mode: not on Acme One: vLLM's sleep mode needs an allocator of CUDA's; leave it out"),
        ("narrow cache", "--kv-cache-dtype: not on Acme One: accelplug's attention keeps keys and values as they are"),
        ("ray", "--distributed-executor-backend ray: the backend of Acme One does not say under which name Ray counts"),
        ("two batches", "--ubatch-size: not on Acme One: vLLM overlaps two batches with CUDA's streams; leave it out"),
        ("fast prefill", "--kv-sharing-fast-prefill: not on Acme One: accelplug's attention computes every token"),
        ("moving the cache", "--kv-transfer-config: not on Acme One: accelplug has tried none of vLLM's connectors"),
        ("offloading the cache", "--kv-offloading-size: not on Acme One: accelplug has tried none of vLLM's"),
        ("offloading weights", "--cpu-offload-gb: not on Acme One: vLLM reads weights out of the host's memory with"),
        ("fetching weights", "--offload-group-size: not on Acme One: vLLM fetches weights ahead of their layers on a"),
        ("sending weights", "--weight-transfer-config: not on Acme One: vLLM sends weights through NCCL, or memory"),
        ("watermarks", "--watermark-config: not on Acme One: only the V2 runner has watermarks; vLLM's V2 model"),
        ("experts, LoRA", "--enable-lora with a mixture of experts: not on Acme One: vLLM's adapters for experts are"),
        (
            "experts, copies",
            "--data-parallel-size with a mixture of experts: not on Acme One: vLLM spreads the experts",
        ),
        ("state space", "--model (it has state-space layers): not on Acme One: vLLM computes them with Triton kernels"),
        ("sparse attention", "--model (it has sparse attention): not on Acme One: vLLM chooses the keys with kernels"),
        ("V2 runner", "VLLM_USE_V2_MODEL_RUNNER=1: not on Acme One: vLLM's V2 model runner is made of Triton kernels"),
        ("markers", "--enable-layerwise-nvtx-tracing: not on Acme One: NVTX is CUDA's; use accelplug trace"),
        ("fast loading", "--load-format: not on Acme One: fastsafetensors, instanttensor, ipc_cache, modelexpress"),
        (
            "context parallel",
            "--decode-context-parallel-size: not on Acme One: accelplug's attention keeps a request's",
        ),
        (
            "draft model",
            "--speculative-config with another method than ngram: not on Acme One: vLLM prepares a draft model's",
        ),
    ],
)
def test_what_the_device_cannot_do_is_refused_with_flag_reason_and_remedy(
    case: str, error: str, said: dict[str, dict[str, Any]]
) -> None:
    assert error in said[case]["error"]


def test_drafts_from_n_grams_need_nothing_of_the_device(said: dict[str, dict[str, Any]]) -> None:
    assert "error" not in said["n-grams"]


def test_a_vendors_worker_takes_accelplugs_place_with_what_accelplug_has_not_built(
    said: dict[str, dict[str, Any]], log: str
) -> None:
    assert said["vendor's worker"]["worker"] == "acme_sdk.Worker"
    assert "with the worker acme_sdk.Worker" in log
    assert "--enable-lora: not on Acme One" in said["vendor's worker, LoRA"]["error"], "the vendor's own word holds"


def test_all_refusals_are_said_at_once(said: dict[str, dict[str, Any]]) -> None:
    assert "--tensor-parallel-size" in said["two"]["error"]
    assert "--enable-lora" in said["two"]["error"]


def test_what_vllm_does_by_default_is_left_out_with_a_word(said: dict[str, dict[str, Any]], log: str) -> None:
    plain = said["plain"]
    assert (plain["prefix_caching"], plain["chunked_prefill"]) == (False, False)
    assert plain["tokens"] >= 64, "a whole prompt fits into a step"
    assert "no prefix_caching (blocks are never shared)" in log


def test_a_device_that_has_int64_in_no_way_is_refused_with_what_is_to_be_said_of_one_that_keeps_32_bits() -> None:
    def check(**casts: str) -> None:
        constraints = Constraints(dtypes=("int32", "float32"), casts=casts)
        configuration.check_int64(SimpleNamespace(title="Acme One", constraints=constraints))  # type: ignore[arg-type]

    with pytest.raises(BadInputError, match=r"Acme One has no int64 tensors, .*casts=\{'int64': 'int32'\}"):
        check()
    check(int64="int32")
