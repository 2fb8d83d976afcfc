"""SmolLM2 generates on the simulated device, eagerly and compiled, beside the CPU. test_generation.py runs it, in a
process of its own for each device; ``python device_generation.py CHECKPOINT TOKENS`` prints the token ids as JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, CompileConfig

import accelplug

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]


def main(checkpoint: str, tokens: int) -> None:
    device = accelplug.auto().torch_device
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval()
    given = tokenizer.apply_chat_template(QUESTION, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    length = given["input_ids"].shape[1]

    def generated(**how: Any) -> list[int]:
        inputs = {name: value.to(model.device) for name, value in given.items()}
        answer = model.generate(**inputs, max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False, **how)
        assert answer.device == model.device
        ids: list[int] = answer[0][length:].tolist()
        return ids

    cpu = generated()
    model.to(device)
    accelplug.fallback_report(reset=True)
    eager = generated()
    report = accelplug.fallback_report(reset=True)
    # With a static cache transformers compiles the decoding step itself, with torch's default backend, on the devices
    # that it has in a list: neuron is there, spyre isn't
    compiling = CompileConfig()
    compiling._compile_all_devices = True
    compiled = generated(cache_implementation="static", compile_config=compiling)
    in_graphs = accelplug.fallback_report()
    found = {
        "cpu": cpu,
        "eager": eager,
        "compiled": compiled,
        "text": tokenizer.decode(cpu, skip_special_tokens=True),
        "fell_back": {row.op: row.calls for row in report.rows},
        "fell_back_in_graphs": {row.op: row.calls for row in in_graphs.rows if row.compiled},
        "graphs": torch._dynamo.utils.counters["accelplug"],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
