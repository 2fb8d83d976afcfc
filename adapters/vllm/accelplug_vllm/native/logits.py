"""Logits, compiled for each number of rows: vLLM leaves them out of what it compiles of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from vllm.config import CompilationMode, VllmConfig

import accelplug
from accelplug.buckets import Ladder
from accelplug_vllm.native import options

SPARE = 4  # graphs for a size: what a later step asks besides is compiled, and a limit met in service is an error


def compiled(vllm_config: VllmConfig, model: Any, rows: Ladder) -> Callable[..., Any] | None:
    """``model``'s logits through the device's compiler, for the sizes in ``rows``; None where they stay op by op.

    They do where the parts of several workers are put together, with adapters (LoRA), without a warm-up, and in a model
    for pooling, which has none.
    """
    if (
        not hasattr(model, "compute_logits")
        or vllm_config.compilation_config.mode != CompilationMode.VLLM_COMPILE
        or not options.read(vllm_config.additional_config).warm_up
        or vllm_config.parallel_config.tensor_parallel_size > 1
        or vllm_config.lora_config is not None
    ):
        return None
    made: Callable[..., Any] = accelplug.compile(
        model.compute_logits, dynamic=False, recompile_limit=SPARE * len(rows.sizes)
    )
    return made


def warm_up(model: Any, rows: Ladder, width: int, dtype: torch.dtype, device: torch.device) -> None:
    """Compiles all sizes. ``width`` is that of a token's hidden state."""
    with torch.inference_mode():  # as in a step, which torch's graphs are told apart by
        for size in sorted(rows.sizes, reverse=True):
            model.compute_logits(torch.zeros(size, width, dtype=dtype, device=device))
