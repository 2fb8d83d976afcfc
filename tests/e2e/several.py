"""Runs ``several_devices.py``, for the tests of several devices, and says what it should find."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from marked_processes import left, marks
from several_devices import REQUESTS, TOKENS, ids, words

PROGRAM = Path(__file__).with_name("several_devices.py")


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
