"""Requests with a seed, whose prompts are run in several steps.

Each has a generator of its own, and all but the last of these steps throw away the token that they draw. vLLM's V1
runner turns the generator back by four then, which only CUDA's can be. See compat: "runner.seeds".
"""

from __future__ import annotations

from typing import Any

import numpy as np


def install(runner: Any) -> None:
    """What is going to be thrown away is drawn from the device's generator, from the next step on."""
    sample = runner.sample_tokens

    def sample_tokens(grammar_output: Any) -> Any:
        batch = runner.input_batch
        thrown_away = np.flatnonzero(runner.discard_request_mask.np[: batch.num_reqs]).tolist()
        kept = {row: batch.generators.pop(row) for row in thrown_away if row in batch.generators}
        try:
            return sample(grammar_output)
        finally:
            batch.generators.update(kept)

    runner.sample_tokens = sample_tokens
