"""The models that vLLM's tests name, as a Hugging Face cache folder of small random ones, made here.

With it as HF_HOME, and offline, the hub's own code finds them by name: neither the tests nor vLLM can tell.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelplug import cache

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

COMMIT = "0" * 40
POSITIONS = 8192
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def home() -> Path:
    """The folder, made at the first call; safe to call from several processes at once."""
    recipe = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
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

    tokenizer = _byte_tokenizer()
    config = OPTConfig(
        vocab_size=len(tokenizer),
        hidden_size=256,  # heads of 64, as the original's: some devices take nothing smaller
        word_embed_proj_dim=256,
        ffn_dim=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=2048,
        **TOKENS,
    )
    OPTForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _phi_moe(folder: Path) -> None:
    """The configuration of a model whose attention has a window, which short prompts outgrow too."""
    from transformers import PhimoeConfig

    tokenizer = _byte_tokenizer()
    PhimoeConfig(
        vocab_size=len(tokenizer),
        hidden_size=2048,
        num_attention_heads=16,
        num_key_value_heads=4,
        intermediate_size=256,
        num_hidden_layers=2,
        max_position_embeddings=POSITIONS,
        sliding_window=24,
        architectures=["PhiMoEForCausalLM"],
        dtype="bfloat16",
        **TOKENS,
    ).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _embedding_gemma(folder: Path) -> None:
    """The configuration of an encoder whose attention has a window in both directions."""
    from transformers import Gemma3TextConfig

    tokenizer = _byte_tokenizer()
    Gemma3TextConfig(
        vocab_size=len(tokenizer),
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
        **TOKENS,
    ).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


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

        tokenizer = _byte_tokenizer()
        LlamaConfig(vocab_size=len(tokenizer), **from_config, **TOKENS).save_pretrained(folder)
        tokenizer.save_pretrained(folder)

    return make


def _byte_tokenizer() -> PreTrainedTokenizerFast:
    """Four special tokens and the 256 bytes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["<pad>", "<s>", "</s>", "<unk>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    bytes_only = Tokenizer(models.BPE({word: i for i, word in enumerate(words)}, [], unk_token="<unk>"))
    bytes_only.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_only.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=bytes_only, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


# By the name on the hub.
MODELS: Mapping[str, Callable[[Path], None]] = {
    "facebook/opt-125m": _opt,
    "meta-llama/Meta-Llama-3-8B": _llama(heads=32, kv_heads=8),
    "microsoft/Phi-tiny-MoE-instruct": _phi_moe,
    "google/embeddinggemma-300m": _embedding_gemma,
}
