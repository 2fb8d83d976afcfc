"""The models that vLLM's tests name, as a Hugging Face cache folder of small random ones, made here.

With it as HF_HOME, and offline, the hub's own code finds them by name: neither the tests nor vLLM can tell.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelplug import cache
from accelplug_vllm.tiny import tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

COMMIT = "0" * 40
POSITIONS = 8192


def home() -> Path:
    """The folder, made at the first call; safe to call from several processes at once."""
    source = "".join(inspect.getsource(module) for module in (sys.modules[__name__], tokenizer))
    recipe = hashlib.sha256(source.encode()).hexdigest()[:12]
    return cache.made_once(cache.folder("upstream") / f"models-{recipe}", _make)


def _make(folder: Path) -> None:
    print("Making small random models for upstream tests (once) ...", file=sys.stderr, flush=True)
    for name, model in MODELS.items():
        repository = folder / "hub" / f"models--{name.replace('/', '--')}"
        (repository / "refs").mkdir(parents=True)
        (repository / "refs" / "main").write_text(COMMIT)
        model(repository / "snapshots" / COMMIT)


def _opt(folder: Path) -> None:
    from transformers import OPTConfig, OPTForCausalLM

    words = _byte_tokenizer()
    config = OPTConfig(
        vocab_size=len(words),
        hidden_size=256,  # heads of 64, as the original's: some devices take nothing smaller
        word_embed_proj_dim=256,
        ffn_dim=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=2048,
        **tokenizer.IDS,
    )
    OPTForCausalLM(config).save_pretrained(folder)
    words.save_pretrained(folder)


def _phi_moe(folder: Path) -> None:
    """The configuration of a model whose attention has a window, which short prompts outgrow too."""
    from transformers import PhimoeConfig

    words = _byte_tokenizer()
    PhimoeConfig(
        vocab_size=len(words),
        hidden_size=2048,
        num_attention_heads=16,
        num_key_value_heads=4,
        intermediate_size=256,
        num_hidden_layers=2,
        max_position_embeddings=POSITIONS,
        sliding_window=24,
        architectures=["PhiMoEForCausalLM"],
        dtype="bfloat16",
        **tokenizer.IDS,
    ).save_pretrained(folder)
    words.save_pretrained(folder)


def _embedding_gemma(folder: Path) -> None:
    """The configuration of an encoder whose attention has a window in both directions."""
    from transformers import Gemma3TextConfig

    words = _byte_tokenizer()
    Gemma3TextConfig(
        vocab_size=len(words),
        hidden_size=256,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        intermediate_size=256,
        num_hidden_layers=2,
        max_position_embeddings=POSITIONS,
        sliding_window=24,
        use_bidirectional_attention=True,
        architectures=["Gemma3TextModel"],
        dtype="float32",
        **tokenizer.IDS,
    ).save_pretrained(folder)
    words.save_pretrained(folder)


def _llama(heads: int, kv_heads: int, head_size: int = 128) -> Callable[[Path], None]:
    """The configuration of a Llama with the attention of a real one, and its tokenizer; there are no weights."""
    from_config: Mapping[str, Any] = {
        "hidden_size": heads * head_size,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_size,
        "intermediate_size": 256,
        "num_hidden_layers": 2,
        "max_position_embeddings": POSITIONS,
        "architectures": ["LlamaForCausalLM"],
        "dtype": "bfloat16",
    }

    def make(folder: Path) -> None:
        from transformers import LlamaConfig

        words = _byte_tokenizer()
        LlamaConfig(vocab_size=len(words), **from_config, **tokenizer.IDS).save_pretrained(folder)
        words.save_pretrained(folder)

    return make


def _byte_tokenizer() -> PreTrainedTokenizerFast:
    """Four special tokens and the 256 bytes."""
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=tokenizer.of_bytes(), **tokenizer.SPECIAL)


# By the name on the hub.
MODELS: Mapping[str, Callable[[Path], None]] = {
    "facebook/opt-125m": _opt,
    "meta-llama/Meta-Llama-3-8B": _llama(heads=32, kv_heads=8),
    "microsoft/Phi-tiny-MoE-instruct": _phi_moe,
    "google/embeddinggemma-300m": _embedding_gemma,
}
