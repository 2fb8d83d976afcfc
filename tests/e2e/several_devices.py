"""Greedy tokens from a model on several devices, and where each worker is, as JSON. Arguments: the model, and more for
``LLM`` as JSON. A model without a tokenizer gets token ids."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from greedy_tokens import PROMPTS, SMALL

IDS = ([1, 5, 9, 2], [7] * 40, [3, 4], [*range(1, 100)])


def where(worker: Any) -> dict[str, Any]:
    """Run in each worker."""
    import torch

    return {
        "devices": sorted({str(parameter.device) for parameter in worker.model_runner.model.parameters()}),
        "sees": torch.accelerator.device_count() if torch.accelerator.is_available() else 0,
        "core": os.environ.get("NEURON_RT_VISIBLE_CORES"),
        "rank": os.environ.get("RANK"),
        "pid": os.getpid(),
    }


def main(model: str, options: str = "{}") -> None:
    from vllm import LLM, SamplingParams

    given = json.loads(options)
    prompts = [{"prompt_token_ids": [*ids]} for ids in IDS] if given.get("skip_tokenizer_init") else [*PROMPTS]
    params = SamplingParams(temperature=0, max_tokens=12, detokenize=not given.get("skip_tokenizer_init"))
    llm = LLM(model, **SMALL | given)
    outputs = llm.generate(prompts, params, use_tqdm=False)
    said = {"tokens": [list(o.outputs[0].token_ids) for o in outputs], "workers": llm.collective_rpc(where)}
    llm.llm_engine.engine_core.shutdown()
    print(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
