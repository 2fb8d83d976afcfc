"""A tiny model serves requests of random lengths. Arguments: a folder for the model, how many requests, and options for
``LLM`` as JSON. Prints what was compiled and which buckets were used, as JSON."""

from __future__ import annotations

import json
import random
import sys


def main(folder: str, requests: str, options: str) -> None:
    from accelplug_vllm.native import counting
    from torch._dynamo.utils import counters
    from transformers import LlamaConfig
    from vllm import LLM, SamplingParams

    from accelplug.buckets.guard import compilations

    small = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "num_key_value_heads": 2}
    config = LlamaConfig(architectures=["LlamaForCausalLM"], vocab_size=512, num_hidden_layers=3, **small)
    config.save_pretrained(folder)
    limits = {
        "max_model_len": 1024,
        "max_num_seqs": 16,
        "max_num_batched_tokens": 1024,
        "kv_cache_memory_bytes": 1 << 26,
    }
    made = {"load_format": "dummy", "skip_tokenizer_init": True, "dtype": "float32", "seed": 0, **limits}
    llm = LLM(folder, **made | json.loads(options))
    before = counting.MODEL.snapshot()
    rng = random.Random(0)
    lengths = [min(1 + int(rng.expovariate(1 / 100)), 900) for _ in range(int(requests))]
    prompts = [{"prompt_token_ids": rng.choices(range(512), k=length)} for length in lengths]
    answers = [SamplingParams(temperature=0, max_tokens=rng.randint(1, 8), detokenize=False) for _ in prompts]
    traced: list[object] = []
    with compilations(traced.append):
        outputs = llm.generate(prompts, answers, use_tqdm=False)
    said = {
        "before": before.model_dump(),
        "after": counting.MODEL.snapshot().model_dump(),
        "traced": len(traced),
        "cache": {name: counters["inductor"][f"fxgraph_cache_{name}"] for name in ("hit", "miss")},
        "scheduler": type(llm.llm_engine.engine_core.engine_core.scheduler).__name__,
        "lengths": [len(output.outputs[0].token_ids) for output in outputs],
        "wanted": [answer.max_tokens for answer in answers],
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
