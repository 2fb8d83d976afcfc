"""Structured output: xgrammar's masks in PyTorch's operators.

xgrammar compiles its mask for a device that it doesn't know with Inductor, which has no code for ours, at the first
request. It has the same in plain operators, for those who ask; vLLM doesn't.
"""

from __future__ import annotations

import types
from typing import Any

import torch


def install() -> None:
    """Makes vLLM's structured output ask, in this process. See compat: "structured_output"."""
    from vllm.v1.structured_output import utils

    if not isinstance(utils.xgr, _InPlainOperators):
        utils.xgr = _InPlainOperators(utils.xgr)


class _InPlainOperators(types.ModuleType):
    """xgrammar, with another default."""

    def __init__(self, xgrammar: Any) -> None:
        super().__init__("xgrammar")
        self._xgrammar = xgrammar

    def __getattr__(self, name: str) -> Any:
        return getattr(self._xgrammar, name)

    def apply_token_bitmask_inplace(self, logits: torch.Tensor, bitmask: torch.Tensor, **options: Any) -> None:
        self._xgrammar.apply_token_bitmask_inplace(logits, bitmask, **{"backend": "torch_native", **options})
