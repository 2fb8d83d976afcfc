"""What accelplug itself has no way to do yet on a device outside of vLLM's tree, and so refuses when the server starts.

What isn't refused would go on without a word, or fail in the middle of a request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

DRAFTERS = ("ngram",)
CACHE_DTYPES = ("auto", "float16", "bfloat16")


@dataclass(frozen=True)
class Unbuilt:
    """``asks(vllm_config)`` says whether ``flag`` asks for it; ``reason`` is why it can't be, ``remedy`` what to do."""

    flag: str
    asks: Callable[[Any], bool]
    reason: str
    remedy: str


def _model(config: Any, name: str) -> bool:
    return config.model_config is not None and bool(getattr(config.model_config, name))


UNBUILT = (
    Unbuilt(
        "--model (it has latent attention, MLA)",
        lambda c: _model(c, "use_mla"),
        "accelplug has no latent attention for devices outside of vLLM's tree",
        "set VLLM_MLA_DISABLE=1 to run it with ordinary attention",
    ),
    Unbuilt(
        "--model (it has state-space layers)",
        lambda c: _model(c, "is_hybrid") or _model(c, "is_attention_free"),
        "vLLM computes them with Triton kernels, which the device can't run",
        "use a model with attention layers only",
    ),
    Unbuilt(
        "--quantization",
        lambda c: _model(c, "quantization"),
        "vLLM has no kernels for quantised layers on devices outside of its tree, and accelplug brings none",
        "use a checkpoint that is not quantised",
    ),
    Unbuilt(
        "--kv-cache-dtype",
        lambda c: c.cache_config.cache_dtype not in CACHE_DTYPES,
        "accelplug's attention keeps keys and values as they are",
        f"give one of {', '.join(CACHE_DTYPES)}",
    ),
    Unbuilt(
        "--speculative-config",
        lambda c: c.speculative_config is not None and c.speculative_config.method not in DRAFTERS,
        "vLLM drafts like this with Triton kernels, which the device can't run",
        f"give one of these methods: {', '.join(DRAFTERS)}",
    ),
    Unbuilt(
        "--enable-sleep-mode",
        lambda c: _model(c, "enable_sleep_mode"),
        "vLLM's sleep mode needs an allocator of CUDA's",
        "leave it out",
    ),
    Unbuilt(
        "--decode-context-parallel-size, --prefill-context-parallel-size",
        lambda c: (
            max(c.parallel_config.decode_context_parallel_size, c.parallel_config.prefill_context_parallel_size) > 1
        ),
        "accelplug's attention keeps a request's whole KV cache on one device",
        "leave them at 1",
    ),
    Unbuilt(
        "--enable-dbo",
        lambda c: c.parallel_config.enable_dbo,
        "vLLM overlaps two batches with CUDA's streams",
        "leave it out",
    ),
    Unbuilt(
        "--enable-eplb",
        lambda c: c.parallel_config.enable_eplb,
        "vLLM moves experts between devices with NCCL",
        "leave it out",
    ),
)
