"""Greedy tokens for prompts of many lengths, as JSON. Arguments: the model, more for ``LLM`` as JSON, and prompts as
tokens, as JSON, for a model without a tokenizer."""

from __future__ import annotations

import json
import sys

PROMPTS = (
    "The capital of France is",
    "Once upon a time, " * 30,
    "def fib(n):\n",
    "Hello",
    "The three primary colours are",
    "1, 2, 3, 4," * 20,
)
SMALL = {
    "max_model_len": 256,
    "max_num_seqs": 4,
    "max_num_batched_tokens": 128,
    "dtype": "float32",
    "seed": 0,
    "enforce_eager": True,
    "kv_cache_memory_bytes": 128 << 20,
}


def main(model: str, options: str = "{}", tokens: str = "[]") -> None:
    """At most four requests run at once and prompts are cut in chunks, so batches are mixed."""
    from accelplug_vllm.native import counting
    from vllm import LLM, SamplingParams
    from vllm.platforms import current_platform

    given = [{"prompt_token_ids": prompt} for prompt in json.loads(tokens)]
    llm = LLM(model, **SMALL | {"skip_tokenizer_init": bool(given)} | json.loads(options))
    params = SamplingParams(temperature=0, max_tokens=16, detokenize=not given)
    outputs = llm.generate(given or [*PROMPTS], params, use_tqdm=False)
    runner = llm.llm_engine.model_executor.driver_worker.worker.model_runner
    tensors = [*runner.model.parameters(), *runner.kv_caches]
    counted = counting.MODEL.snapshot()
    said = {
        "platform": [current_platform._enum.name, current_platform.device_type, current_platform.dispatch_key],
        "devices": sorted({str(tensor.device) for tensor in tensors}),
        "compiles": [counted.compiles, counted.compiles_in_service],
        "tokens": [list(output.outputs[0].token_ids) for output in outputs],
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
