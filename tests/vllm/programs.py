"""Runs programs of this folder, each in a process of its own: a process has one device for good."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from processes import PATIENCE, environment


def run(program: str, *arguments: str, cwd: Path, **environ: str) -> tuple[Any, str]:
    """The JSON on the last line that the program prints, and all that it prints, which has vLLM's log."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name(program)), *arguments],
        cwd=cwd,
        env=environment(**environ),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1]), done.stdout


def tiny_llama(folder: Path) -> Path:
    """The configuration of a small Llama, for what needs no weights."""
    from transformers import LlamaConfig

    small = {"hidden_size": 64, "num_attention_heads": 2, "num_key_value_heads": 1, "num_hidden_layers": 1}
    LlamaConfig(architectures=["LlamaForCausalLM"], dtype="bfloat16", **small).save_pretrained(folder)
    return folder
