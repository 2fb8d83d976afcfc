"""What tests ask a server: a question of which a real model knows the answer, Paris, and what it has counted."""

from __future__ import annotations

import time
import urllib.request
from typing import Any

from openai import OpenAI

QUESTION: list[Any] = [{"role": "user", "content": "What is the capital of France?"}]


def ask(url: str, model: str, **more: Any) -> str:
    """The answer. ``more`` are vLLM's own parameters of a request."""
    client = OpenAI(base_url=f"{url}/v1", api_key="none", timeout=300)
    answer = client.chat.completions.create(
        model=model, messages=QUESTION, max_tokens=16, temperature=0, extra_body=more
    )
    return answer.choices[0].message.content or ""


def missing(url: str, *wanted: str, patience: float = 60) -> set[str]:
    """What the page of metrics has not, when it has been asked for that long. Counts come there once a second."""
    deadline = time.monotonic() + patience
    while True:
        with urllib.request.urlopen(f"{url}/metrics") as answer:
            page = answer.read().decode()
        lacks = {text for text in wanted if text not in page}
        if not lacks or time.monotonic() > deadline:
            return lacks
        time.sleep(0.2)
