"""Structured output: xgrammar's masks in PyTorch's operators.

xgrammar compiles its mask for a device that it doesn't know with Inductor, which has no code for ours, at the first
request. It has the same in plain operators, for those who ask; vLLM doesn't.
"""

from __future__ import annotations

import importlib
import types
from typing import Any

import torch


def install() -> None:
    """Makes vLLM's structured output ask, in this process. See compat: "structured_output"."""
    from vllm.v1.structured_output import utils

    utils.xgr = _InPlainOperators("xgrammar")


class _InPlainOperators(types.ModuleType):
    """xgrammar, with another default; imported when it is first used, as in vLLM."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module("xgrammar"), name)

    def apply_token_bitmask_inplace(self, logits: torch.Tensor, bitmask: torch.Tensor, **options: Any) -> None:
        xgrammar = importlib.import_module("xgrammar")
        xgrammar.apply_token_bitmask_inplace(logits, bitmask, **{"backend": "torch_native", **options})
