"""The reference that vLLM's attention tests compare with, computed on the CPU: PyTorch refuses it on other devices."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.attention import flex_attention as flexible


def create_block_mask(mask_mod: Any, **options: Any) -> Any:
    """As torch's, on the CPU whatever ``device`` says."""
    return flexible.create_block_mask(mask_mod, **{**options, "device": "cpu"})


def flex_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, **options: Any) -> torch.Tensor:
    """As torch's, on the CPU; the result is on the device of ``query``."""
    return flexible.flex_attention(query.cpu(), key.cpu(), value.cpu(), **options).to(query.device)
