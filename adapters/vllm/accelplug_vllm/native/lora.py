"""LoRA adapters in PyTorch's operators: vLLM's for the CPU, which leave the base model's tokens alone here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from vllm.lora.punica_wrapper.punica_cpu import PunicaWrapperCPU


class NativePunica(PunicaWrapperCPU):  # type: ignore[misc]
    """A token without an adapter has the slot -1, which upstream indexes with: it then gets the last slot's adapter.

    See compat: "lora.base_model".
    """

    def _apply_shrink(self, y: torch.Tensor, x: torch.Tensor, w_t_all: torch.Tensor, scale: float) -> None:
        """As upstream's; nothing of an adapter is left for a token without one, and expanding adds nothing then."""
        super()._apply_shrink(y, x, w_t_all, scale)
        y.view(-1, y.shape[-1]).mul_((self.token_lora_indices >= 0)[:, None])

    def add_lora_embedding(self, y: torch.Tensor, *args: Any, **kwargs: Any) -> None:
        self._where_adapted(self.token_lora_indices, super().add_lora_embedding, y, *args, **kwargs)

    def add_lora_logits(self, y: torch.Tensor, *args: Any, **kwargs: Any) -> None:
        self._where_adapted(self.sampler_indices, super().add_lora_logits, y, *args, **kwargs)

    @staticmethod
    def _where_adapted(
        slots: torch.Tensor, add: Callable[..., Any], y: torch.Tensor, *args: Any, **kwargs: Any
    ) -> None:
        """Lets ``add`` change only those rows of ``y`` that have an adapter."""
        rows = y.view(-1, y.shape[-1])
        before = rows.clone()
        add(y, *args, **kwargs)
        rows.copy_(torch.where((slots >= 0)[:, None], rows, before))
