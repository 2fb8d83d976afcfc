"""Whether tokens are those of the CPU: what transformers, which shares no code with vLLM, says to the same prompts."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from typing import Any

import torch

from accelplug_vllm.conformance import here

# How far the logit of a greedy token may be from the largest one: rounding may decide between near equals. Logits of
# the model are of the order of 1.
MARGINS = {"float32": 1e-3, "float16": 2e-2, "bfloat16": 1.5e-1}
ANSWER = 12  # tokens
LENGTHS = (1, 5, 17, 40, 100, 140)  # of prompts, in tokens; more than are computed at once, and longer than a step


def prompts(lengths: Sequence[int] = LENGTHS) -> list[list[int]]:
    """Token ids, the same on every machine."""
    dice = random.Random(0)
    return [[dice.randrange(4, 256) for _ in range(length)] for length in lengths]


def disagreement(asked: Sequence[Sequence[int]], said: Sequence[Sequence[int]], dtype: str) -> str:
    """Where an answer has a token that the CPU, after the same tokens, would not have chosen; "" where none has."""
    for prompt, answer in zip(asked, said, strict=True):
        if len(answer) != ANSWER:
            return f"to {len(prompt)} tokens there are {len(answer)} tokens in the place of {ANSWER}"
        with torch.no_grad():
            logits = _model()(torch.tensor([[*prompt, *answer]])).logits[0, len(prompt) - 1 : -1]
        best = logits.max(-1)
        behind = best.values - logits.gather(-1, torch.tensor(answer)[:, None])[:, 0]
        if (wrong := (behind > MARGINS[dtype]).nonzero()).numel():
            at = int(wrong[0])
            return (
                f"to a prompt of {len(prompt)} tokens, token {at} of the answer is {answer[at]}; the CPU says "
                f"{int(best.indices[at])}, whose logit is larger by {float(behind[at]):.3g}"
            )
    return ""


@functools.cache
def _model() -> Any:
    from transformers import LlamaForCausalLM

    return LlamaForCausalLM.from_pretrained(here.model(), dtype=torch.float32).eval()
