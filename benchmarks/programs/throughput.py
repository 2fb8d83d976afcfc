"""One offline run of vLLM in a process of its own: answers after short prompts, then long prompts mixed with answers.

`python throughput.py MODEL OPTIONS TOKENS RESULT` writes RESULT, a JSON object: seconds until the engine is up, and of
each workload the generated tokens per second of its second `generate`, with a digest of each request's tokens. OPTIONS
are further ones for `LLM`, as JSON; each request of the first workload generates TOKENS.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

REQUESTS = 16
SHORT, LONG = (8, 48), (100, 500)  # tokens of a prompt: least and most
VOCABULARY = (1000, 40000)  # of which prompts are made
LIMITS = {
    "dtype": "float32",
    "max_model_len": 1024,
    "max_num_seqs": 32,
    "max_num_batched_tokens": 512,
    "kv_cache_memory_bytes": 1 << 30,
    "enable_prefix_caching": False,  # the second `generate` has the prompts of the first
}


def main(model: str, options: str, tokens: int, result: Path) -> None:
    """Runs; both calls of `generate` for a workload do the same work."""
    start = time.perf_counter()
    from vllm import LLM

    llm = LLM(model, **LIMITS | json.loads(options))
    measured: dict[str, Any] = {"load_s": time.perf_counter() - start, "outputs": []}
    draw = random.Random(0)
    short = [prompt(draw, SHORT) for _ in range(REQUESTS)]
    mixed = [prompt(draw, LONG if n % 2 else SHORT) for n in range(REQUESTS)]
    for name, prompts, lengths in (
        ("decode", short, [tokens] * REQUESTS),
        ("mixed", mixed, [draw.randint(tokens // 2, tokens) for _ in range(REQUESTS)]),
    ):
        generate(llm, prompts, lengths)
        start = time.perf_counter()
        outputs = generate(llm, prompts, lengths)
        measured[f"{name}_tokens_per_s"] = sum(lengths) / (time.perf_counter() - start)
        measured["outputs"] += [hashlib.sha256(str(ids).encode()).hexdigest()[:12] for ids in outputs]
    result.write_text(json.dumps(measured))


def prompt(draw: random.Random, lengths: tuple[int, int]) -> list[int]:
    """Random tokens; their number is within ``lengths``."""
    return [draw.randrange(*VOCABULARY) for _ in range(draw.randint(*lengths))]


def generate(llm: Any, prompts: list[list[int]], lengths: list[int]) -> list[list[int]]:
    """The tokens that each prompt is answered with, as many as ``lengths`` says."""
    from vllm import SamplingParams

    wanted = [SamplingParams(temperature=0.0, max_tokens=most, ignore_eos=True, detokenize=False) for most in lengths]
    given = [{"prompt_token_ids": ids} for ids in prompts]
    return [list(answer.outputs[0].token_ids) for answer in llm.generate(given, wanted, use_tqdm=False)]


if __name__ == "__main__":  # EngineCore's process imports this file too
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
