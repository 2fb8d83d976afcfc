"""What people do with ``vllm serve``: each feature is a function of a server."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accelplug_vllm.tiny.models import checkpoint
from openai import OpenAI

from tools.server import Server
from tools.support.catalogue import CLOSE, PROMPTS, Feature

MODEL = "llama"
OPTIONS = (
    *("--served-model-name", MODEL, "--dtype", "float32", "--enforce-eager", "--seed", "0"),
    *("--max-model-len", "512", "--max-num-seqs", "4", "--max-num-batched-tokens", "128"),
    *("--block-size", "64", "--kv-cache-memory-bytes", "32M"),
)


def _client(server: Server) -> OpenAI:
    return OpenAI(base_url=f"{server.url}/v1", api_key="none", timeout=300, max_retries=0)


def chat(server: Server) -> Any:
    talk: Any = [{"role": "user", "content": PROMPTS[0]}]
    answer = _client(server).chat.completions.create(
        model=MODEL, messages=talk, temperature=0, max_tokens=16, logprobs=True, top_logprobs=2
    )
    (choice,) = answer.choices
    assert choice.logprobs is not None
    assert choice.logprobs.content is not None
    chances = [[one.logprob for one in position.top_logprobs] for position in choice.logprobs.content]
    return [choice.message.content, choice.finish_reason, chances]


def streaming(server: Server) -> Any:
    stream = _client(server).completions.create(
        model=MODEL, prompt=PROMPTS[0], temperature=0, max_tokens=24, stream=True, extra_body={"ignore_eos": True}
    )
    pieces = [choice.text for chunk in stream for choice in chunk.choices]
    return {"text": "".join(pieces), "in pieces": len(pieces) > 2}


def benchmark(server: Server) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(str(Path(sys.executable).with_name("vllm")), "bench", "serve", "--base-url", server.url),
            *("--model", MODEL, "--tokenizer", str(checkpoint(MODEL)), "--dataset-name", "random", "--seed", "0"),
            *("--random-input-len", "32", "--random-output-len", "8", "--num-prompts", "8", "--ignore-eos"),
            *("--save-result", "--result-dir", folder, "--result-filename", "result.json"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"vllm bench serve ended with {done.returncode}: {done.stderr[-2000:]}")
        found = json.loads((Path(folder) / "result.json").read_text())
    return {name: found[name] for name in ("completed", "total_input_tokens", "total_output_tokens")}


FEATURES: tuple[Feature, ...] = (
    Feature("chat over HTTP, with log probabilities", chat, CLOSE),
    Feature("streaming over HTTP", streaming),
    Feature("`vllm bench serve`", benchmark),
)


def run(server: Server, features: tuple[Feature, ...] = FEATURES) -> dict[str, dict[str, Any]]:
    """Of each feature what came of it: ``output``, or why it ``failed``."""
    return {feature.name: _tried(feature.run, server) for feature in features}


def _tried(ask: Callable[[Server], Any], server: Server) -> dict[str, Any]:
    try:
        return {"output": ask(server)}
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}
