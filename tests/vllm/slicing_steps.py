"""How many tokens vLLM's scheduler gives each step, on the device that is chosen here. There is no model: the answers
are made up. Arguments: a model's folder, and cases as JSON, each options for ``EngineArgs`` and the lengths of prompts
that come before each step. Prints, for each case, the steps: the tokens of its requests in the order they came."""

from __future__ import annotations

import json
import sys
from typing import Any


def main(model: str, cases: str) -> None:
    print(json.dumps([steps(model, options, arrivals) for options, arrivals in json.loads(cases)]))


def steps(model: str, options: dict[str, Any], arrivals: list[list[int]]) -> list[list[int]]:
    from vllm import SamplingParams
    from vllm.v1.outputs import ModelRunnerOutput
    from vllm.v1.request import Request

    scheduler = made(model, options)
    order: list[str] = []
    seen: list[list[int]] = []
    for lengths in arrivals:
        for length in lengths:
            order.append(str(len(order)))
            answer = SamplingParams(max_tokens=50, ignore_eos=True)
            answer.update_from_generation_config({}, eos_token_id=None)
            scheduler.add_request(Request(order[-1], [0] * length, answer, None))
        step = scheduler.schedule()
        counts = step.num_scheduled_tokens
        seen.append([counts[name] for name in order if name in counts])
        done = [name for name in counts if not scheduler.requests[name].is_prefill_chunk]
        tokens = [[1] if name in done else [] for name in counts]
        indices = {name: n for n, name in enumerate(counts)}
        output = ModelRunnerOutput(req_ids=[*counts], req_id_to_index=indices, sampled_token_ids=tokens)
        scheduler.update_from_output(step, output)
    return seen


def made(model: str, options: dict[str, Any]) -> Any:
    import torch
    from vllm.engine.arg_utils import EngineArgs
    from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
    from vllm.v1.structured_output import StructuredOutputManager

    given = {
        "model": model,
        "skip_tokenizer_init": True,
        "load_format": "dummy",
        "max_model_len": 2048,
        "enable_prefix_caching": False,
    }
    given |= options
    config = EngineArgs(**given).create_engine_config()
    blocks, size = 1000, config.cache_config.block_size
    config.cache_config.num_gpu_blocks = blocks
    layer = FullAttentionSpec(block_size=size, num_kv_heads=1, head_size=1, dtype=torch.float32)
    kv_cache = KVCacheConfig(num_blocks=blocks, kv_cache_tensors=[], kv_cache_groups=[KVCacheGroupSpec(["0"], layer)])
    return config.scheduler_config.get_scheduler_cls()(
        vllm_config=config,
        kv_cache_config=kv_cache,
        structured_output_manager=StructuredOutputManager(config),
        block_size=size,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
