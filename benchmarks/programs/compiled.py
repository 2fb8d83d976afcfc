"""Compiled Llamas on one device in a process of its own: how long a forward pass takes, as torch.compile left it.

`python compiled.py cpu|accelplug CHECKPOINT TINY SMOLLM2 RESULT` writes RESULT, a JSON object of milliseconds for one
pass over 16 tokens: with `accelplug` on the device that ACCELPLUG_SIMULATE names. TINY and SMOLLM2 are the passes that
are timed, after as many for nothing; the number is their median.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

TINY = LlamaConfig(
    hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    vocab_size=128, max_position_embeddings=256,
)  # fmt: skip


def main(way: str, checkpoint: str, tiny: int, smollm2: int, result: Path) -> None:
    """Measures both models."""
    torch.manual_seed(0)
    models = {
        "tiny": (LlamaForCausalLM(TINY), tiny),
        "smollm2": (AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32), smollm2),
    }
    ids = torch.randint(0, 128, (1, 16))
    compiler, device = chosen(way)
    measured: dict[str, Any] = {"outputs": []}
    for name, (model, passes) in models.items():
        model = model.eval().to(device)
        compiled, given = compiler(model), ids.to(device)
        with torch.no_grad():
            for _ in range(passes):
                logits = compiled(given, use_cache=False).logits
            measured[f"{name}_ms"] = statistics.median(timed(compiled, given) for _ in range(passes))
        measured["outputs"].append(hashlib.sha256(str(logits.argmax(-1).tolist()).encode()).hexdigest()[:12])
    result.write_text(json.dumps(measured))


def chosen(way: str) -> tuple[Callable[[Any], Any], torch.device]:
    """What compiles, and the device to put a model on."""
    if way == "cpu":
        return lambda model: torch.compile(model, dynamic=False), torch.device("cpu")
    import accelplug

    return accelplug.compile, accelplug.auto().torch_device


def timed(compiled: Callable[..., Any], ids: torch.Tensor) -> float:
    start = time.perf_counter()
    compiled(ids, use_cache=False)
    return (time.perf_counter() - start) * 1e3


if __name__ == "__main__":  # Inductor's processes import this file too
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
