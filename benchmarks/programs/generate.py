"""One offline run of vLLM in a process of its own: loads the model, generates once to warm up and once for the clock.

`python generate.py MODEL PROMPTS TOKENS RESULT` writes RESULT, a JSON object: seconds of loading (import and engine),
tokens per second of the second `generate`, and a digest of each prompt's tokens.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from pathlib import Path

SUBJECTS = (
    "rivers", "bread", "the moon", "bicycles", "glass", "honey bees", "old maps", "winter",
    "clocks", "tea", "bridges", "chess", "volcanoes", "letters", "sails", "gardens",
)  # fmt: skip


def main(model: str, prompts: int, tokens: int, result: Path) -> None:
    """Runs; both calls of `generate` do the same work."""
    start = time.perf_counter()
    from vllm import LLM, SamplingParams

    llm = LLM(model, enforce_eager=True, gpu_memory_utilization=0.2, max_model_len=1024, enable_prefix_caching=False)
    load = time.perf_counter() - start
    texts = [f"Here is a short story about {SUBJECTS[n % len(SUBJECTS)]}, number {n}." for n in range(prompts)]
    params = SamplingParams(temperature=0.0, max_tokens=tokens, ignore_eos=True)
    llm.generate(texts, params, use_tqdm=False)
    start = time.perf_counter()
    outputs = [answer.outputs[0].token_ids for answer in llm.generate(texts, params, use_tqdm=False)]
    seconds = time.perf_counter() - start
    measured = {
        "load_s": load,
        "tokens_per_s": sum(map(len, outputs)) / seconds,
        "outputs": [hashlib.sha256(str(list(ids)).encode()).hexdigest()[:12] for ids in outputs],
    }
    result.write_text(json.dumps(measured))


if __name__ == "__main__":  # EngineCore's process imports this file too
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
