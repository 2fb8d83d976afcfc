"""What accelplug's worker doesn't do on a device outside of vLLM's tree, whatever the device can: by vLLM's options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accelplug_vllm.native import runner
from accelplug_vllm.native.asked import Asked, of_model

CACHE_DTYPES = ("auto", "float16", "bfloat16")
FORMATS_OF_CUDA = ("fastsafetensors", "instanttensor", "ipc_cache", "modelexpress")
MULTIMODAL = "model_config.multimodal_config"
ENCODERS = "TORCH_SDPA"  # vLLM's name for what runs the encoders of images on any device

WHOLE_CACHE = "accelplug's attention keeps a request's whole KV cache on one device"
CACHE_AS_IT_IS = "accelplug's attention keeps keys and values as they are"
EXPERTS_STAY = "accelplug's experts stay on the device that they were loaded to"
TWO_BATCHES = "vLLM overlaps two batches with CUDA's streams"
CONNECTORS = "accelplug has tried none of vLLM's connectors on a device outside of its tree"
TRITON = "Triton kernels, which accelplug has not written anew"


def _unbuilt(flag: str, why: str, asks: Callable[[Any], bool], remedy: str = "leave it out") -> Asked:
    return Asked(None, flag, asks, remedy, unbuilt=why)


def _narrow_cache(config: Any) -> bool:
    """Where nothing else is asked for, vLLM heeds what the checkpoint says when it makes the layers."""
    dtype = config.cache_config.cache_dtype
    return dtype not in CACHE_DTYPES or (
        dtype == "auto" and bool(getattr(config.quant_config, "kv_cache_scheme", None))
    )


def _said(config: Any, option: str) -> Any:
    """What an option says; None where the installed vLLM has none of that name, or the model nothing to do with it."""
    for name in option.split("."):
        config = getattr(config, name, None)
    return config


def _more_than(number: int, option: str) -> Callable[[Any], bool]:
    return lambda config: (_said(config, option) or 0) > number


def _given(option: str) -> Callable[[Any], bool]:
    return lambda config: _said(config, option) is not None


def _on(option: str) -> Callable[[Any], bool]:
    return lambda config: bool(_said(config, option))


UNBUILT = (
    # Models
    _unbuilt(
        "--model (it has state-space layers)",
        f"vLLM computes them with {TRITON}",
        lambda c: of_model(c, "is_hybrid") or of_model(c, "is_attention_free"),
        "use a model with attention layers only",
    ),
    _unbuilt(
        "--model (it has sparse attention)",
        "vLLM chooses the keys with kernels of CUDA's",
        _given("model_config.hf_text_config.index_topk"),
        "use a model whose attention sees all keys",
    ),
    _unbuilt(
        "--enable-lora with a mixture of experts",
        f"vLLM's adapters for experts are {TRITON}",
        lambda c: c.lora_config is not None and of_model(c, "is_moe"),
        "merge the adapter into the model",
    ),
    _unbuilt(
        "--mm-encoder-attn-backend",
        "the others are for other devices",
        lambda c: (_said(c, f"{MULTIMODAL}.mm_encoder_attn_backend.name") or ENCODERS) != ENCODERS,
        f"give {ENCODERS}, or leave it out",
    ),
    _unbuilt(
        "--mm-encoder-attn-dtype",
        "it is for kernels of CUDA's",
        _given(f"{MULTIMODAL}.mm_encoder_attn_dtype"),
    ),
    _unbuilt(
        "--load-format",
        f"{', '.join(FORMATS_OF_CUDA)} read into the memory of CUDA's devices",
        lambda c: c.load_config.load_format in FORMATS_OF_CUDA,
    ),
    # The KV cache
    _unbuilt(
        "--kv-cache-dtype",
        CACHE_AS_IT_IS,
        _narrow_cache,
        f"give one of {', '.join(CACHE_DTYPES)}, and not auto where the checkpoint itself wants a narrow one",
    ),
    _unbuilt(
        "--kv-sharing-fast-prefill",
        "accelplug's attention computes every token of a prompt in every layer",
        _on("cache_config.kv_sharing_fast_prefill"),
    ),
    _unbuilt(
        "--kv-transfer-config",
        CONNECTORS,
        lambda c: _said(c, "kv_transfer_config") is not None and _said(c, "cache_config.kv_offloading_size") is None,
    ),
    _unbuilt("--kv-offloading-size", CONNECTORS, _given("cache_config.kv_offloading_size")),
    _unbuilt("--ec-transfer-config", CONNECTORS, _given("ec_transfer_config")),
    # Several devices
    _unbuilt(
        "--decode-context-parallel-size",
        WHOLE_CACHE,
        _more_than(1, "parallel_config.decode_context_parallel_size"),
        "leave it at 1",
    ),
    _unbuilt(
        "--prefill-context-parallel-size",
        WHOLE_CACHE,
        _more_than(1, "parallel_config.prefill_context_parallel_size"),
        "leave it at 1",
    ),
    _unbuilt(
        "--data-parallel-size with a mixture of experts",
        "vLLM spreads the experts over the copies, and accelplug has nothing that takes tokens from one to another",
        lambda c: c.parallel_config.data_parallel_size > 1 and of_model(c, "is_moe"),
        "start several servers",
    ),
    _unbuilt("--enable-eplb", EXPERTS_STAY, _on("parallel_config.enable_eplb")),
    _unbuilt("--enable-elastic-ep", EXPERTS_STAY, _on("parallel_config.enable_elastic_ep")),
    _unbuilt("--enable-fault-tolerance", "accelplug has not tried it", _on("parallel_config.enable_fault_tolerance")),
    # The runner
    _unbuilt("--enable-dbo", TWO_BATCHES, _on("parallel_config.enable_dbo")),
    _unbuilt(
        "--ubatch-size",
        TWO_BATCHES,
        lambda c: not c.parallel_config.enable_dbo and _more_than(1, "parallel_config.ubatch_size")(c),
    ),
    _unbuilt(
        "--enable-return-routed-experts",
        f"only the V2 runner returns them; {runner.WHY_V1}",
        _on("aux_output_config.enabled"),
    ),
    _unbuilt(
        "--watermark-config",
        f"only the V2 runner has watermarks; {runner.WHY_V1}",
        _given("watermark_config"),
    ),
    _unbuilt(f"{runner.VARIABLE}=1", runner.WHY_V1, runner.is_asked_for, "unset it"),
    _unbuilt(
        "--enable-layerwise-nvtx-tracing",
        "NVTX is CUDA's",
        _on("observability_config.enable_layerwise_nvtx_tracing"),
        "use accelplug trace",
    ),
    # Weights
    _unbuilt(
        "--cpu-offload-gb",
        "vLLM reads weights out of the host's memory with CUDA's unified addresses",
        _more_than(0, "offload_config.uva.cpu_offload_gb"),
    ),
    _unbuilt(
        "--offload-group-size",
        "vLLM fetches weights ahead of their layers on a stream of CUDA's",
        _more_than(0, "offload_config.prefetch.offload_group_size"),
    ),
    _unbuilt(
        "--weight-transfer-config",
        "vLLM sends weights through NCCL, or memory that CUDA shares",
        _given("weight_transfer_config"),
    ),
)
