"""Tokens of requests with a seed, all at once and one by one, as JSON. Arguments: the model, and prompts as tokens."""

from __future__ import annotations

import json
import sys

from greedy_tokens import SMALL


def main(model: str, tokens: str) -> None:
    from vllm import LLM, SamplingParams

    llm = LLM(model, **SMALL, skip_tokenizer_init=True)
    prompts = [{"prompt_token_ids": prompt} for prompt in json.loads(tokens)]
    params = SamplingParams(temperature=1, seed=7, max_tokens=8, ignore_eos=True, detokenize=False)
    together = llm.generate(prompts, params, use_tqdm=False)
    alone = [llm.generate(prompt, params, use_tqdm=False)[0] for prompt in prompts]
    said = [[list(output.outputs[0].token_ids) for output in outputs] for outputs in (together, alone)]
    print(json.dumps({"together": said[0], "alone": said[1]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
