"""vLLM without a server, on whatever device accelplug picks: `python examples/offline.py`."""

from vllm import LLM, SamplingParams

import accelplug
from tools.checkpoint import checkpoint

QUESTION = "What is the capital of France?"


def main() -> None:
    print(accelplug.devices())
    llm = LLM(
        str(checkpoint()), device="auto", max_model_len=2048, kv_cache_memory_bytes=512 * 2**20, enforce_eager=True
    )
    (reply,) = llm.chat([{"role": "user", "content": QUESTION}], SamplingParams(temperature=0, max_tokens=64))
    print(f"\nQ: {QUESTION}\nA: {reply.outputs[0].text}")


if __name__ == "__main__":  # vLLM may start its processes by importing this file again
    main()
