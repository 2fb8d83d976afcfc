"""The program that `engine` runs: vLLM's engine answers prompts, and what was seen of it is said in a line of JSON."""

from __future__ import annotations

import json
import os
from typing import Any


def main(task: str) -> None:
    """``task`` has the ``options`` for ``LLM``, the ``prompts`` as token ids, and how many ``tokens`` to answer.

    Prints ``answers`` and the same ``again``; for each worker where its weights and caches are; what was compiled until
    the first prompt came and since (``compiles``), and how often Dynamo has looked at code since (``traced``).
    """
    from vllm import LLM, SamplingParams
    from vllm.platforms import current_platform

    from accelplug.buckets.guard import compilations
    from accelplug_vllm.native import counting

    given = json.loads(task)
    llm = LLM(**given["options"])
    warm = counting.MODEL.snapshot().compiles
    wanted = SamplingParams(temperature=0, max_tokens=given["tokens"], ignore_eos=True, detokenize=False)
    prompts: Any = [{"prompt_token_ids": prompt} for prompt in given["prompts"]]
    traced: list[object] = []
    with compilations(traced.append):
        answers, again = (
            [list(output.outputs[0].token_ids) for output in llm.generate(prompts, wanted, use_tqdm=False)]
            for _ in range(2)
        )
    said = {
        "answers": answers,
        "again": again,
        "platform": current_platform.device_type,
        "workers": llm.collective_rpc(where),
        "compiles": [warm, counting.MODEL.snapshot().compiles - warm],
        "traced": len(traced),
    }
    llm.llm_engine.engine_core.shutdown()
    print(json.dumps(said), flush=True)


def where(worker: Any) -> dict[str, Any]:
    """Run in each worker: which devices its model and its cache are on, and how large that is."""
    runner = getattr(worker, "worker", worker).model_runner
    caches = [cache for cache in runner.kv_caches if cache is not None]
    return {
        "weights": sorted({str(parameter.device) for parameter in runner.model.parameters()}),
        "caches": sorted({str(cache.device) for cache in caches}),
        "cache_bytes": sum(cache.numel() * cache.element_size() for cache in caches),
        "process": os.getpid(),
    }
