"""LoRA adapters in a batch with requests that have none."""

from __future__ import annotations

from typing import Any

import pytest
import torch

SLOTS, RANK, WIDTH, OUT = 2, 3, 6, 5


@pytest.fixture
def punica() -> Any:
    """Two adapters loaded, so that no slot is empty. A batch of four tokens: base model, adapter, base model, other."""
    from accelplug_vllm.native.lora import NativePunica
    from vllm.lora.layers import LoRAMapping

    made = NativePunica(max_num_batched_tokens=8, max_batches=4, device="cpu")
    mapping = LoRAMapping(index_mapping=(0, 1, 0, 2), prompt_mapping=(0, 1, 0, 2), is_prefill=False)
    made.update_metadata(mapping, [1, 2], SLOTS, 16)
    return made


@pytest.mark.parametrize("logits", [False, True], ids=["a linear layer", "logits"])
def test_tokens_without_an_adapter_are_the_base_models(logits: bool, punica: Any) -> None:
    torch.manual_seed(0)
    x, y = torch.randn(4, WIDTH), torch.randn(4, OUT)
    first, second = torch.randn(SLOTS, 1, RANK, WIDTH), torch.randn(SLOTS, 1, OUT, RANK)
    expected = y.clone()
    for token, slot in ((1, 0), (3, 1)):
        expected[token] += 2.0 * (second[slot, 0] @ (first[slot, 0] @ x[token]))
    if logits:
        punica.add_lora_logits(y, x, first, second, 2.0)
    else:
        punica.add_lora_linear(y, x, (first,), (second,), 2.0, (OUT,))
    torch.testing.assert_close(y, expected)
