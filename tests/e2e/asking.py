"""A question to a server, of which a real model knows the answer: Paris."""

from __future__ import annotations

from typing import Any

from openai import OpenAI

QUESTION: list[Any] = [{"role": "user", "content": "What is the capital of France?"}]


def ask(url: str, model: str) -> str:
    client = OpenAI(base_url=f"{url}/v1", api_key="none", timeout=300)
    answer = client.chat.completions.create(model=model, messages=QUESTION, max_tokens=16, temperature=0)
    return answer.choices[0].message.content or ""
