"""Which of vLLM's options ask for which feature, so that what a device can't do is refused when the server starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accelplug.errors import BadInputError
from accelplug.specs import Feature
from accelplug_vllm import compat

if TYPE_CHECKING:
    from accelplug_vllm.native.device import NativeDevice

# What each feature of a device needs of vLLM.
PARTS = {
    Feature.lora: compat.LORA,
    Feature.mixture_of_experts: compat.MIXTURES,
    Feature.speculative_decoding: compat.DRAFTS,
    Feature.structured_output: compat.STRUCTURED_OUTPUT,
    Feature.tensor_parallel: compat.SEVERAL_WORKERS,
    Feature.pipeline_parallel: compat.SEVERAL_WORKERS,
    Feature.data_parallel: compat.SEVERAL_WORKERS,
}

CACHE_DTYPES = ("auto", "float16", "bfloat16")
WHOLE_CACHE = "accelplug's attention keeps a request's whole KV cache on one device"


@dataclass(frozen=True)
class Asked:
    """``asks(vllm_config)`` says whether ``flag`` asks for ``feature``; ``remedy`` is what to do where it can't be.

    What vLLM does by default nobody need have asked for. It has ``leave_out(vllm_config)`` in the place of a remedy.
    ``unbuilt`` is why accelplug has no way to do it on a device outside of vLLM's tree, whatever the backend says;
    without it, what is asked for would be left out without a word, or fail in the middle of a request.
    ``feature`` is None where a backend has no word for it.
    """

    feature: Feature | None
    flag: str
    asks: Callable[[Any], bool]
    remedy: str = ""
    leave_out: Callable[[Any], None] | None = None
    unbuilt: str = ""


def _model(config: Any, name: str) -> bool:
    return config.model_config is not None and bool(getattr(config.model_config, name))


def _whole_prefills(config: Any) -> None:
    """A prompt then has to fit into one step."""
    scheduler = config.scheduler_config
    scheduler.enable_chunked_prefill = False
    longest = config.model_config.max_model_len if config.model_config else 0
    scheduler.max_num_batched_tokens = max(scheduler.max_num_batched_tokens, longest)


def _op_by_op(config: Any) -> bool:
    from vllm.config import CompilationMode

    return bool(config.compilation_config.mode == CompilationMode.NONE)


OPTIONS = (
    Asked(
        Feature.eager,
        "--enforce-eager, and accelplug's default so far",
        _op_by_op,
        """leave it out, and give --additional-config '{"accelplug": {"compile": true}}'""",
    ),
    Asked(
        Feature.tensor_parallel,
        "--tensor-parallel-size",
        lambda c: c.parallel_config.tensor_parallel_size > 1,
        "leave it at 1",
    ),
    Asked(
        Feature.pipeline_parallel,
        "--pipeline-parallel-size",
        lambda c: c.parallel_config.pipeline_parallel_size > 1,
        "leave it at 1",
    ),
    Asked(
        Feature.data_parallel,
        "--data-parallel-size",
        lambda c: c.parallel_config.data_parallel_size > 1,
        "start several servers",
    ),
    Asked(
        Feature.expert_parallel,
        "--enable-expert-parallel",
        lambda c: c.parallel_config.enable_expert_parallel,
        "leave it out",
    ),
    Asked(Feature.lora, "--enable-lora", lambda c: c.lora_config is not None, "merge the adapter into the model"),
    Asked(
        Feature.quantization,
        "--quantization",
        lambda c: _model(c, "quantization"),
        "use a checkpoint that is not quantised",
        unbuilt="vLLM has no kernels for quantised layers on devices outside of its tree, and accelplug brings none",
    ),
    Asked(
        None,
        "--kv-cache-dtype",
        lambda c: c.cache_config.cache_dtype not in CACHE_DTYPES,
        f"give one of {', '.join(CACHE_DTYPES)}",
        unbuilt="accelplug's attention keeps keys and values as they are",
    ),
    Asked(
        Feature.pooling,
        "--runner pooling",
        lambda c: c.model_config is not None and c.model_config.runner_type == "pooling",
        "run embeddings and rerankers on another device",
    ),
    Asked(
        Feature.multimodal,
        "--model (it takes images or sound)",
        lambda c: _model(c, "is_multimodal_model"),
        "use a text model",
    ),
    Asked(
        Feature.encoder_decoder,
        "--model (it has an encoder and a decoder)",
        lambda c: _model(c, "is_encoder_decoder"),
        "use a decoder-only model",
    ),
    Asked(
        Feature.mixture_of_experts,
        "--model (it is a mixture of experts)",
        lambda c: _model(c, "is_moe"),
        "use a model that is none",
    ),
    Asked(
        Feature.mla,
        "--model (it has latent attention, MLA)",
        lambda c: _model(c, "use_mla"),
        "set VLLM_MLA_DISABLE=1 to run it with ordinary attention",
        unbuilt="accelplug has no latent attention",
    ),
    Asked(
        None,
        "--model (it has state-space layers)",
        lambda c: _model(c, "is_hybrid") or _model(c, "is_attention_free"),
        "use a model with attention layers only",
        unbuilt="vLLM computes them with Triton kernels, which accelplug has not written anew",
    ),
    Asked(
        Feature.sliding_window,
        "--model (it has a sliding window)",
        lambda c: c.model_config is not None and c.model_config.get_sliding_window() is not None,
        "give --disable-sliding-window, and --max-model-len within the window",
    ),
    Asked(
        Feature.speculative_decoding,
        "--speculative-config",
        lambda c: c.speculative_config is not None,
        "leave it out",
    ),
    Asked(
        Feature.speculative_decoding,
        "--speculative-config with another method than ngram",
        lambda c: c.speculative_config is not None and c.speculative_config.method != "ngram",
        "use the method ngram",
        unbuilt="vLLM prepares a draft model's inputs with Triton kernels, which accelplug has not written anew",
    ),
    Asked(
        Feature.prefix_caching,
        "--enable-prefix-caching",
        lambda c: c.cache_config.enable_prefix_caching,
        leave_out=lambda c: setattr(c.cache_config, "enable_prefix_caching", False),
    ),
    Asked(
        Feature.chunked_prefill,
        "--enable-chunked-prefill",
        lambda c: c.scheduler_config.enable_chunked_prefill,
        leave_out=_whole_prefills,
    ),
    Asked(
        Feature.sleep,
        "--enable-sleep-mode",
        lambda c: _model(c, "enable_sleep_mode"),
        "leave it out",
        unbuilt="vLLM's sleep mode needs an allocator of CUDA's",
    ),
    Asked(
        None,
        "--decode-context-parallel-size",
        lambda c: c.parallel_config.decode_context_parallel_size > 1,
        "leave it at 1",
        unbuilt=WHOLE_CACHE,
    ),
    Asked(
        None,
        "--prefill-context-parallel-size",
        lambda c: c.parallel_config.prefill_context_parallel_size > 1,
        "leave it at 1",
        unbuilt=WHOLE_CACHE,
    ),
    Asked(
        None,
        "--enable-dbo",
        lambda c: c.parallel_config.enable_dbo,
        "leave it out",
        unbuilt="vLLM overlaps two batches with CUDA's streams",
    ),
    Asked(
        None,
        "--enable-eplb",
        lambda c: c.parallel_config.enable_eplb,
        "leave it out",
        unbuilt="accelplug's experts stay on the device that they were loaded to",
    ),
)


def check(vllm_config: Any, here: NativeDevice) -> list[str]:
    """Leaves out what vLLM does by default and the device can't, and says what. Changes nothing the second time.

    Raises BadInputError naming every other option that asks for what can't be, why, and what to do.
    """
    cannot = _cannot(here)
    reasons = [(option, (option.feature and cannot.get(option.feature)) or option.unbuilt) for option in OPTIONS]
    asked = [(option, reason) for option, reason in reasons if reason and option.asks(vllm_config)]
    refused = [
        f"{option.flag}: not on {here.title}: {reason}; {option.remedy}"
        for option, reason in asked
        if option.leave_out is None
    ]
    if refused:
        raise BadInputError("\n".join(refused))
    for option, _ in asked:
        assert option.leave_out is not None
        option.leave_out(vllm_config)
    return [f"no {option.feature} ({reason})" for option, reason in asked]


def check_request(params: Any, here: NativeDevice) -> None:
    """Raises ValueError, which vLLM's server answers with 400, for a request that the device can't serve."""
    reason = _cannot(here).get(Feature.structured_output)
    if reason and getattr(params, "structured_outputs", None) is not None:
        raise ValueError(f"structured output: not on {here.title}: {reason}; leave it out of the request")


def _cannot(here: NativeDevice) -> dict[Feature, str]:
    """Feature to reason: the backend's, what this vLLM lacks, and what several workers, or drafts, would need."""
    cannot = {feature: reason for feature, part in PARTS.items() if (reason := compat.why_off(part))}
    if not here.spec.distributed_backend:
        several = (Feature.tensor_parallel, Feature.pipeline_parallel, Feature.data_parallel)
        cannot |= dict.fromkeys(several, "its backend names nothing that processes could talk through")
    if not here.constraints.holds("float64"):
        cannot[Feature.speculative_decoding] = "vLLM draws float64 numbers to check drafts, and the device holds none"
    return cannot | here.capabilities.cannot
