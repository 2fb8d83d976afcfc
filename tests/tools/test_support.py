"""`make support`: what is judged right, and the page that is written. The run itself is tests/e2e/test_features.py."""

from __future__ import annotations

import pytest

from tools.support.page import page
from tools.support.verdicts import verdict


@pytest.mark.parametrize(
    ("output", "expected", "tolerance", "outcome"),
    [
        ([[1, 2], "a"], [[1, 2], "a"], 0, "same"),
        ([[1, 2]], [[1, 3]], 0, "differs"),
        ([[1, -0.5]], [[1, -0.50001]], 1e-4, "close"),
        ([[1, -0.5]], [[2, -0.5]], 1e-4, "differs"),
        ([[1, -0.5]], [[1, -0.6]], 1e-4, "differs"),
        ([0.5], [0.5, 0.5], 1e-4, "differs"),
        ({"text": "a"}, {"text": "a", "more": 1}, 0, "differs"),
    ],
)
def test_an_output_is_judged_by_the_cpus(output: object, expected: object, tolerance: float, outcome: str) -> None:
    assert verdict({"output": output}, {"output": expected}, tolerance)["outcome"] == outcome


def test_without_an_output_of_the_cpus_there_is_nothing_to_judge_by() -> None:
    assert verdict({"output": [1]}, {"failed": "KeyError: 'x'"}, 0)["outcome"] == "ran"
    assert verdict({"failed": "KeyError: 'x'"}, {"output": [1]}, 0) == {"outcome": "failed", "reason": "KeyError: 'x'"}


def test_the_page_says_why_something_is_refused_and_that_devices_are_simulated() -> None:
    refused = {"outcome": "refused", "reason": "--enable-lora: not on Acme: it can't; merge it"}
    rows = [
        {"feature": "chat", "flag": "", "cpu": {"outcome": "ran"}, "acme": {"outcome": "same"}},
        {"feature": "LoRA", "flag": "--enable-lora", "cpu": {"outcome": "ran"}, "acme": refused},
    ]
    text = page({"versions": {"vLLM": "1.0"}, "devices": ["cpu", "acme"], "rows": rows})
    assert (
        "| feature | cpu | acme (simulated) |\n|---|---|---|\n| chat | runs | same |\n| LoRA | runs | refused |" in text
    )
    assert "## acme\n\n* LoRA: `--enable-lora`: not on Acme: it can't; merge it\n" in text
