"""What runs with each version: a few tokens in one process, and what was used for them, as JSON.

Arguments: the model, and more for ``LLM`` as JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

PROMPTS = ("Hello", "1, 2, 3, 4, " * 6, "The capital of France is")
SMALL = {
    "max_model_len": 128,
    "max_num_seqs": 4,
    "max_num_batched_tokens": 64,
    "dtype": "float32",
    "seed": 0,
    "enforce_eager": True,
    "kv_cache_memory_bytes": 32 << 20,
}


def main(model: str, options: str = "{}") -> None:
    """Runs, and prints one line."""
    import vllm
    from vllm import LLM, SamplingParams
    from vllm.platforms import current_platform

    llm = LLM(model, **SMALL | json.loads(options))
    params = SamplingParams(temperature=0, max_tokens=8, ignore_eos=True)
    outputs = llm.generate([*PROMPTS], params, use_tqdm=False)
    said = {
        "version": vllm.__version__,
        "platform": type(current_platform).__name__,
        "device": current_platform.device_type,
        "tokens": [list(output.outputs[0].token_ids) for output in outputs],
        "implementations": implementations() if current_platform.is_out_of_tree() else {},
        **used(llm),
    }
    print(json.dumps(said))


def implementations() -> dict[str, list[str]]:
    """What runs each layer and operator on the device, in order."""
    from accelplug.tables import fallback

    return {name: list(runs) for name, runs in fallback.live().implementations.items()}


def used(llm: Any) -> dict[str, Any]:
    """Of accelplug: classes, counters, metrics, and what it says is off."""
    from accelplug_vllm.compat import PARTS, why_off
    from accelplug_vllm.native import counting
    from prometheus_client import REGISTRY

    engine = llm.llm_engine
    runner = engine.model_executor.driver_worker.worker.model_runner
    counted = counting.MODEL.snapshot()
    return {
        "scheduler": type(engine.engine_core.engine_core.scheduler).__name__,
        "dispatcher": type(runner.cudagraph_dispatcher).__name__,
        "compiles": [counted.compiles, counted.compiles_in_service],
        "metrics": sorted(f.name for f in REGISTRY.collect() if f.name.startswith("accelplug_")),
        "off": {part.name: reason for part in PARTS if (reason := why_off(part))},
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
