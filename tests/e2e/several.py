"""Runs ``several_devices.py``, for the tests of several devices, and finds the processes that it starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import torch
from several_devices import REQUESTS, TOKENS, ids, words

PROGRAM = Path(__file__).with_name("several_devices.py")
MARK = "SEVERAL_DEVICES_TEST"


def generate(model: Path, environ: dict[str, str], **options: Any) -> dict[str, Any]:
    """What the program says, run with the engine in its own process; and that no process of it is left."""
    mark = marks()
    own = {"HF_HUB_OFFLINE": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "RAY_ADDRESS": "local", **mark}
    command = [sys.executable, str(PROGRAM), str(model), json.dumps(options)]
    done = subprocess.run(
        command,
        env={**os.environ, **own, **environ},
        cwd=PROGRAM.parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    assert left(mark) == []
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"tokens"')]
    said: dict[str, Any] = json.loads(lines[-1])
    return said


def marks() -> dict[str, str]:
    """What the processes of one test have in their environment. A process that gives itself a title, as vLLM's do,
    writes it over its environment, unless the second is there."""
    return {MARK: uuid.uuid4().hex, "SPT_NOENV": "1"}


def left(mark: dict[str, str]) -> list[str]:
    """The command lines of processes that have the mark in their environment, and keep it for some seconds."""
    deadline = time.monotonic() + 15
    while marked(mark) and time.monotonic() < deadline:
        time.sleep(0.2)
    return [command for command, _ in marked(mark)]


def marked(mark: dict[str, str]) -> list[tuple[str, dict[str, str]]]:
    """Command line and environment of the processes with this mark in it, but those that only wait to be reaped."""
    found = [_process(folder) for folder in Path("/proc").glob("[0-9]*")]
    return [(command, environ) for command, environ in found if command and environ.get(MARK) == mark[MARK]]


def _process(folder: Path) -> tuple[str, dict[str, str]]:
    """Nothing for a process that has ended, or is another user's."""
    try:
        variables = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
        command = (folder / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
    except OSError:
        return "", {}
    return command, dict(variable.partition("=")[::2] for variable in variables)


def expected(model: Path) -> list[list[int]]:
    """Transformers' greedy tokens for the same requests, eight of about one length together."""
    from transformers import AutoModelForCausalLM

    loaded = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval()
    requests = sorted(enumerate(_requests(model)), key=lambda numbered: len(numbered[1]))
    found: dict[int, list[int]] = {}
    for first in range(0, REQUESTS, 8):
        batch = requests[first : first + 8]
        longest = max(len(given) for _, given in batch)
        padded = torch.tensor([[0] * (longest - len(given)) + given for _, given in batch])
        mask = torch.tensor([[0] * (longest - len(given)) + [1] * len(given) for _, given in batch])
        answers = loaded.generate(padded, attention_mask=mask, max_new_tokens=TOKENS, do_sample=False)
        found |= {n: answer[longest:].tolist() for (n, _), answer in zip(batch, answers, strict=True)}
    return [found[n] for n in range(REQUESTS)]


def _requests(model: Path) -> list[list[int]]:
    from transformers import AutoTokenizer

    if not (model / "tokenizer.json").exists():
        return [ids(n) for n in range(REQUESTS)]
    tokenizer = AutoTokenizer.from_pretrained(model)
    return [tokenizer(words(n)).input_ids for n in range(REQUESTS)]


# 4 heads of 64, as Spyre needs them, and 2 KV heads
TINY: dict[str, Any] = {
    "vocab_size": 128,
    "hidden_size": 256,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "initializer_range": 0.2,
    "eos_token_id": None,
}


def tiny_llama(folder: Path) -> Path:
    """A random Llama without a tokenizer."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    LlamaForCausalLM(LlamaConfig(**TINY)).save_pretrained(folder)
    return folder


def tiny_mixtral(folder: Path) -> Path:
    """Likewise a mixture of 4 experts, of which a token goes to 2."""
    from transformers import MixtralConfig, MixtralForCausalLM

    torch.manual_seed(0)
    MixtralForCausalLM(MixtralConfig(**TINY, num_local_experts=4, num_experts_per_tok=2)).save_pretrained(folder)
    return folder
