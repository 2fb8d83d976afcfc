"""vLLM's scheduler on a device with static shapes: a step's tokens fill a bucket where that costs less."""

from __future__ import annotations

import json
from typing import Any

import programs
import pytest

ASKED = {"accelplug": {"tokens": "16,128,512,1024"}}
OPTIONS = {"additional_config": ASKED, "max_num_seqs": 16, "max_num_batched_tokens": 1024}
UNSLICED = {**OPTIONS, "additional_config": {"accelplug": {**ASKED["accelplug"], "slicing": False}}}
SYNCHRONOUS = {**OPTIONS, "async_scheduling": False}
DEAR_STEPS = {**OPTIONS, "additional_config": {"accelplug": {**ASKED["accelplug"], "launch_cost": 500}}}
CASES: dict[str, tuple[dict[str, Any], list[list[int]]]] = {
    "a long prompt": (OPTIONS, [[600], [], [], []]),
    "not sliced": (UNSLICED, [[600], [], []]),
    "where a step is dear": (DEAR_STEPS, [[600], [], []]),
    "synchronous": (SYNCHRONOUS, [[600], [], [], []]),
    "while others are answered": (OPTIONS, [[1] * 10, [600], [], [], []]),
    "a little above a bucket": (OPTIONS, [[100], [90]]),
    "above the largest": (OPTIONS, [[1700], [], [], []]),
    "many answers": (OPTIONS, [[1] * 16, [], []]),
}


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[int]]]:
    """The steps of each case on a simulated Trainium, all of them in one process of its own."""
    folder = programs.tiny_llama(tmp_path_factory.mktemp("scheduler"))
    cases, environ = json.dumps([*CASES.values()]), {"ACCELPLUG_SIMULATE": "neuron", "HF_HUB_OFFLINE": "1"}
    found, _ = programs.run("slicing_steps.py", str(folder), cases, cwd=folder, **environ)
    return dict(zip(CASES, found, strict=True))


@pytest.mark.parametrize("case", ["a long prompt", "synchronous"])
def test_a_long_prompt_runs_in_two_buckets_instead_of_a_larger_one(
    case: str, steps: dict[str, list[list[int]]]
) -> None:
    assert steps[case] == [[512], [88], [1], [1]]


def test_without_slicing_it_runs_at_once(steps: dict[str, list[list[int]]]) -> None:
    assert steps["not sliced"] == [[600], [1], [1]]


def test_where_a_step_is_said_to_cost_much_it_is_padded(steps: dict[str, list[list[int]]]) -> None:
    assert steps["where a step is dear"] == [[600], [1], [1]]


def test_nobodys_answer_waits_for_a_slice(steps: dict[str, list[list[int]]]) -> None:
    first, *others = steps["while others are answered"]
    assert first == [1] * 10
    assert [step[:10] for step in others] == [[1] * 10] * 4, "each gets its next token in each step"
    assert [sum(step[10:]) for step in others] == [502, 98, 1, 1]


def test_what_fills_most_of_a_bucket_is_padded(steps: dict[str, list[list[int]]]) -> None:
    assert steps["a little above a bucket"] == [[100], [1, 90]]


def test_what_no_bucket_holds_is_sliced_so_that_the_last_slice_is_small(steps: dict[str, list[list[int]]]) -> None:
    assert steps["above the largest"] == [[1024], [512], [128], [36]]


def test_all_answers_go_on_together(steps: dict[str, list[list[int]]]) -> None:
    assert steps["many answers"] == [[1] * 16] * 3
