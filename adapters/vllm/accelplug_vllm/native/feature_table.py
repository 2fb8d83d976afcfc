"""Which of vLLM's options ask for which feature that a backend may say its device lacks."""

from __future__ import annotations

from typing import Any

from accelplug.specs import Feature
from accelplug_vllm.native import quantization
from accelplug_vllm.native.asked import Asked, of_model


def _whole_prefills(config: Any) -> None:
    """A prompt then has to fit into one step."""
    scheduler = config.scheduler_config
    scheduler.enable_chunked_prefill = False
    longest = config.model_config.max_model_len if config.model_config else 0
    scheduler.max_num_batched_tokens = max(scheduler.max_num_batched_tokens, longest)


def _op_by_op(config: Any) -> bool:
    from vllm.config import CompilationMode

    return bool(config.compilation_config.mode == CompilationMode.NONE)


FEATURES = (
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
        lambda c: of_model(c, "quantization"),
        "use a checkpoint that is not quantised",
        why_not=quantization.why_not,
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
        lambda c: of_model(c, "is_multimodal_model"),
        "use a text model",
    ),
    Asked(
        Feature.encoder_decoder,
        "--model (it has an encoder and a decoder)",
        lambda c: of_model(c, "is_encoder_decoder"),
        "use a decoder-only model",
    ),
    Asked(
        Feature.mixture_of_experts,
        "--model (it is a mixture of experts)",
        lambda c: of_model(c, "is_moe"),
        "use a model that is none",
    ),
    Asked(
        Feature.mla,
        "--model (it has latent attention, MLA)",
        lambda c: of_model(c, "use_mla"),
        "set VLLM_MLA_DISABLE=1 to run it with ordinary attention",
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
        lambda c: of_model(c, "enable_sleep_mode"),
        "leave it out",
        unbuilt="vLLM's sleep mode needs an allocator of CUDA's",
    ),
)
