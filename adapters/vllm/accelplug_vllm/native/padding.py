"""Pads what vLLM's V1 runner gives the model to the sizes of `shapes`.

The runner pads a step's tokens itself, to the sizes that CUDA graphs were captured for, as its dispatcher says. Here
the dispatcher says the bucket. What the padding computes is thrown away, as upstream's is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from vllm.config import CUDAGraphMode, VllmConfig
from vllm.forward_context import BatchDescriptor
from vllm.v1.cudagraph_dispatcher import CudagraphDispatcher

from accelplug.buckets import Ladder
from accelplug_vllm.native.shapes import Shapes


class BucketDispatcher(CudagraphDispatcher):  # type: ignore[misc]
    """Pads to a bucket, and knows of no CUDA graph. See compat: "runner.padding"."""

    def __init__(self, vllm_config: VllmConfig, tokens: Ladder) -> None:
        super().__init__(vllm_config)
        self._tokens = tokens

    def dispatch(self, num_tokens: int, *args: Any, **kwargs: Any) -> tuple[CUDAGraphMode, BatchDescriptor]:
        """The bucket of ``num_tokens``; the rest is about CUDA graphs."""
        return CUDAGraphMode.NONE, BatchDescriptor(self._tokens.choose(num_tokens, "number of tokens in a step"))


def pad_steps(runner: Any, shapes: Shapes) -> None:
    """Makes ``runner`` pad the tokens of each step. To be called before it knows its KV cache."""
    runner.cudagraph_dispatcher = BucketDispatcher(runner.vllm_config, shapes.tokens)


def pad_logits(model: Any, shapes: Shapes, compiled: Callable[..., Any] | None = None) -> None:
    """Makes ``model`` compute logits for a bucket of rows: ``compiled`` does, if given, where a row is a request.

    A model for pooling has none.
    """
    if not hasattr(model, "compute_logits"):
        return
    by_request, by_token = compiled or model.compute_logits, model.compute_logits

    def compute_logits(hidden_states: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor | None:
        rows = hidden_states.shape[0]
        # A row is a request's last token; with the logits of prompts, any token's
        few = rows <= shapes.sequences.largest
        ladder, compute = (shapes.sequences, by_request) if few else (shapes.tokens, by_token)
        size = ladder.choose(rows, "number of tokens to compute logits for")
        logits = compute(F.pad(hidden_states, (0, 0, 0, size - rows)), *args, **kwargs)
        return None if logits is None else logits[:rows]

    model.compute_logits = compute_logits
