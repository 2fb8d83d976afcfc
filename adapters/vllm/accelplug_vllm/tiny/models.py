"""Checkpoints of real architectures, small enough to be made on the spot: random weights, a tokenizer of bytes.

The weights are the same on every machine. `checkpoint` keeps what it made in the user's cache.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from accelplug import cache
from accelplug_vllm.tiny import quantised
from accelplug_vllm.tiny import tokenizer as tiny_tokenizer
from accelplug_vllm.tiny.tokenizer import IDS, TEMPLATE, tokenizer

HEAD = 64  # what Spyre's attention takes multiples of, and vLLM's for the CPU too
TEXT: dict[str, Any] = {
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": HEAD,
    "max_position_embeddings": 512,
    "tie_word_embeddings": False,  # a random model with tied embeddings repeats its prompt
    **IDS,
}
BERT: dict[str, Any] = {
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 128 // HEAD,
    "max_position_embeddings": 512,
    **IDS,
}
SIDE = 32  # of the pictures that the vision model sees, in pixels
SPEECH = ["<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|translate|>", "<|notimestamps|>", "<|startofprev|>"]
RANK = 8  # of the LoRA adapters


def checkpoint(name: str) -> Path:
    """The folder of one of `MODELS`, made if it isn't there yet; safe to call from several processes at once."""
    modules = (sys.modules[__name__], tiny_tokenizer, quantised)
    source = "".join(map(inspect.getsource, modules)) + version("transformers")
    recipe = hashlib.sha256(source.encode()).hexdigest()[:12]
    return cache.made_once(cache.folder("tiny") / f"{name}-{recipe}", MODELS[name])


def _llama(folder: Path) -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    words = tokenizer()
    _save(folder, LlamaForCausalLM(LlamaConfig(vocab_size=len(words), **TEXT)), words)


def _mixtral(folder: Path) -> None:
    from transformers import MixtralConfig, MixtralForCausalLM

    words = tokenizer()
    experts = {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": None}
    _save(folder, MixtralForCausalLM(MixtralConfig(vocab_size=len(words), **experts, **TEXT)), words)


def _mistral(folder: Path) -> None:
    """With a sliding window that prompts are longer than."""
    from transformers import MistralConfig, MistralForCausalLM

    words = tokenizer()
    _save(folder, MistralForCausalLM(MistralConfig(vocab_size=len(words), sliding_window=32, **TEXT)), words)


def _deepseek(folder: Path) -> None:
    """Latent attention. With yarn: vLLM 0.32's fused rotation for the CPU is wrong for plain rotary embeddings here."""
    from transformers import DeepseekV2Config, DeepseekV2ForCausalLM

    words = tokenizer()
    yarn = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 2.0, "original_max_position_embeddings": 256}
    yarn |= {"beta_fast": 32, "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0}
    latent = {
        "q_lora_rank": None,
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 32,
        "qk_rope_head_dim": 64,
        "v_head_dim": 32,
    }
    experts = {"first_k_dense_replace": 2, "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64}
    text = {key: value for key, value in TEXT.items() if key != "head_dim"} | {"num_key_value_heads": 4}
    config = DeepseekV2Config(vocab_size=len(words), rope_parameters=yarn, **latent, **experts, **text)
    _save(folder, DeepseekV2ForCausalLM(config), words)


def _bert(folder: Path) -> None:
    from transformers import BertConfig, BertModel

    words = tokenizer()
    words.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    _save(folder, BertModel(BertConfig(vocab_size=len(words), **BERT), add_pooling_layer=False), words)


def _reranker(folder: Path) -> None:
    from transformers import BertConfig, BertForSequenceClassification

    words = tokenizer()
    words.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    _save(folder, BertForSequenceClassification(BertConfig(vocab_size=len(words), num_labels=1, **BERT)), words)


def _idefics3(folder: Path) -> None:
    """A picture becomes four tokens."""
    import transformers as tf

    words = tokenizer(["<image>", "<fake_token_around_image>", "<global-img>", "<end_of_utterance>"])
    side = {"longest_edge": SIDE}
    pictures = tf.Idefics3ImageProcessorPil(size=side, max_image_size=side, do_image_splitting=False)
    processor = tf.Idefics3Processor(pictures, words, image_seq_len=4, chat_template=TEMPLATE)
    eyes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = tf.Idefics3Config(
        vision_config={**eyes, "image_size": SIDE, "patch_size": 8},
        text_config=tf.LlamaConfig(vocab_size=len(processor.tokenizer), **TEXT),
        image_token_id=processor.tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        pad_token_id=0,
    )
    _save(folder, tf.Idefics3ForConditionalGeneration(config), processor)


def _whisper(folder: Path) -> None:
    import transformers as tf

    words = tokenizer(SPEECH, template=None)
    processor = tf.WhisperProcessor(tf.WhisperFeatureExtractor(feature_size=16, chunk_length=2, n_fft=400), words)
    sizes = {f"{side}_{what}": size for side in ("encoder", "decoder") for what, size in _WHISPER_SIZES.items()}
    config = tf.WhisperConfig(
        vocab_size=len(words),
        num_mel_bins=16,
        d_model=2 * HEAD,
        max_source_positions=100,
        max_target_positions=128,
        decoder_start_token_id=words.convert_tokens_to_ids(SPEECH[0]),
        suppress_tokens=[],
        begin_suppress_tokens=[],
        **sizes,
        **IDS,
    )
    _save(folder, tf.WhisperForConditionalGeneration(config), processor)


_WHISPER_SIZES = {"layers": 2, "attention_heads": 2, "ffn_dim": 256}


def _attention_adapter(folder: Path) -> None:
    _adapter(folder, seed=1, targets=("q_proj", "v_proj"), scale=0.5)


def _whole_adapter(folder: Path) -> None:
    targets = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    _adapter(folder, seed=2, targets=targets, scale=0.1)


def _adapter(folder: Path, seed: int, targets: tuple[str, ...], scale: float) -> None:
    """A LoRA adapter for the Llama, as PEFT saves one."""
    import torch
    from safetensors.torch import save_file

    wide, inner = TEXT["hidden_size"], TEXT["intermediate_size"]
    queries, keys = TEXT["num_attention_heads"] * HEAD, TEXT["num_key_value_heads"] * HEAD
    shapes = {"q_proj": (wide, queries), "k_proj": (wide, keys), "v_proj": (wide, keys), "o_proj": (queries, wide)}
    shapes |= {"gate_proj": (wide, inner), "up_proj": (wide, inner), "down_proj": (inner, wide)}
    random = torch.Generator().manual_seed(seed)
    tensors = {}
    for layer in range(TEXT["num_hidden_layers"]):
        for name in targets:
            part = "self_attn" if name[0] in "qkvo" else "mlp"
            where = f"base_model.model.model.layers.{layer}.{part}.{name}"
            taken, given = shapes[name]
            tensors[f"{where}.lora_A.weight"] = torch.randn(RANK, taken, generator=random) / taken**0.5
            tensors[f"{where}.lora_B.weight"] = torch.randn(given, RANK, generator=random) * scale
    folder.mkdir()
    save_file(tensors, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": RANK, "lora_alpha": 16, "lora_dropout": 0.0}
    config |= {"base_model_name_or_path": "llama", "bias": "none", "target_modules": targets, "inference_mode": True}
    (folder / "adapter_config.json").write_text(json.dumps(config))


def _of_llama(make: Callable[..., None], **how: Any) -> Callable[[Path], None]:
    return lambda folder: make(checkpoint("llama"), folder, **how)


MODELS: dict[str, Callable[[Path], None]] = {
    "llama": _llama,
    "mixtral": _mixtral,
    "mistral": _mistral,
    "deepseek": _deepseek,
    "bert": _bert,
    "reranker": _reranker,
    "idefics3": _idefics3,
    "whisper": _whisper,
    "attention_adapter": _attention_adapter,
    "whole_adapter": _whole_adapter,
    "compressed4": _of_llama(quantised.compressed, bits=4),
    "compressed8": _of_llama(quantised.compressed, bits=8),
    "gptq": _of_llama(quantised.gptq),
    "twin": _of_llama(quantised.twin),
}


def _save(folder: Path, model: Any, words: Any) -> None:
    """With weights that depend on the fan-in: those that transformers starts from leave so small a model dull."""
    import torch

    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim >= 2:
                is_table = "embed" in name and "patch" not in name
                taken = 1 if is_table else weight[0].numel() if weight.ndim == 4 else weight.shape[-1]
                weight.copy_(torch.randn(weight.shape, generator=random) * (1.0 if is_table else 1.5) / taken**0.5)
    model.to(torch.float32).save_pretrained(folder)
    words.save_pretrained(folder)
