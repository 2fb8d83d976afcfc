"""Greedy tokens for 32 requests at once, and where each worker is, as JSON. Arguments: the model, and more for ``LLM``
as JSON. A model without a tokenizer gets token ids."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from greedy_tokens import SMALL

REQUESTS, TOKENS = 32, 12
LENGTHS = [1 + 37 * n % 120 for n in range(REQUESTS)]  # in words, or in tokens; not in order
TEXT = """
Water boils at a lower temperature on a mountain, because the air presses less on it there. A cook who wants to eat at
the usual time has two ways out: to begin earlier, or to put a lid on the pot that keeps the steam in. The second is
what a pressure cooker does, and its inventor, a doctor from France, showed one in London in 1679. He wanted to make
soup of bones, which the poor could pay for. It took almost three hundred years until every second kitchen had one; the
first models had the habit of bursting, and people remembered that for longer than the soup. Today a valve and a ring of
rubber see to it that nothing of the kind happens, and few who hear it hiss think of him.
"""


def words(request: int) -> str:
    return " ".join((2 * TEXT.split())[request : request + LENGTHS[request]])


def ids(request: int) -> list[int]:
    """For a vocabulary of 128."""
    return [1 + (request * 31 + position * position) % 127 for position in range(LENGTHS[request])]


def where(worker: Any) -> dict[str, Any]:
    """Run in each worker."""
    import torch
    from accelplug_vllm.native import counting

    counted = counting.MODEL.snapshot()
    return {
        "devices": sorted({str(parameter.device) for parameter in worker.model_runner.model.parameters()}),
        "sees": torch.accelerator.device_count() if torch.accelerator.is_available() else 0,
        "core": os.environ.get("NEURON_RT_VISIBLE_CORES"),
        "rank": os.environ.get("RANK"),
        "pid": os.getpid(),
        "compiles": [counted.compiles, counted.compiles_in_service],
    }


def main(model: str, options: str = "{}") -> None:
    from vllm import LLM, SamplingParams

    given = json.loads(options)
    texts = not given.get("skip_tokenizer_init")
    prompts = [words(n) if texts else {"prompt_token_ids": ids(n)} for n in range(REQUESTS)]
    params = SamplingParams(temperature=0, max_tokens=TOKENS, detokenize=texts)
    llm = LLM(model, **SMALL | {"max_num_seqs": REQUESTS} | given)
    outputs = llm.generate(prompts, params, use_tqdm=False)
    said = {"tokens": [list(o.outputs[0].token_ids) for o in outputs], "workers": llm.collective_rpc(where)}
    llm.llm_engine.engine_core.shutdown()
    print(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
