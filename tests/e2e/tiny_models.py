"""Random models without a tokenizer, small enough to run several times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

# 4 heads of 64, as Spyre needs them, and 2 KV heads
TINY: dict[str, Any] = {
    "vocab_size": 128,
    "hidden_size": 256,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "initializer_range": 0.2,
    "eos_token_id": None,
}


def tiny_llama(folder: Path) -> Path:
    """A Llama."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    LlamaForCausalLM(LlamaConfig(**TINY)).save_pretrained(folder)
    return folder


def tiny_mixtral(folder: Path) -> Path:
    """A mixture of 4 experts, of which a token goes to 2."""
    from transformers import MixtralConfig, MixtralForCausalLM

    torch.manual_seed(0)
    MixtralForCausalLM(MixtralConfig(**TINY, num_local_experts=4, num_experts_per_tok=2)).save_pretrained(folder)
    return folder
