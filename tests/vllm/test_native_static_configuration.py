"""A device with static shapes gets limits, a scheduler and sizes to compile from its ladders, or an error."""

from __future__ import annotations

import json
from typing import Any

import programs
import pytest

SCHEDULERS = "accelplug_vllm.native.scheduler"


def asking(**options: Any) -> dict[str, Any]:
    return {"additional_config": {"accelplug": options}}


CASES: dict[str, dict[str, Any]] = {
    "plain": {"max_num_batched_tokens": 128, "max_num_seqs": 6},
    "ladders": {**asking(tokens="16,48", sequences=[1, 4]), "max_num_batched_tokens": 128},
    "synchronous": {"async_scheduling": False},
    "not sliced": asking(slicing=False),
    "whole prompts": {"enable_chunked_prefill": False, "max_num_batched_tokens": 64, "max_num_seqs": 4},
    "own scheduler": {"scheduler_cls": "vllm.v1.core.sched.scheduler.Scheduler"},
    "compiled": {**asking(tokens="16,64", compile=True), "max_num_seqs": 4},
    "eager": {**asking(compile=True), "enforce_eager": True},
    "compiled whole": {"compilation_config": {"mode": 1}},
    "misspelt": asking(token="16"),
    "too few tokens": {**asking(tokens="16"), "max_num_seqs": 32},
    "prompts too long": {**asking(tokens="16,32"), "enable_chunked_prefill": False, "max_num_seqs": 4},
    "nothing could run": asking(warm_up=False, compile=True),
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict[str, Any]], str]:
    """What vLLM makes of each case on a simulated Trainium, all of them in one process of its own, and its log."""
    folder = programs.tiny_llama(tmp_path_factory.mktemp("static"))
    cases, environ = json.dumps([*CASES.values()]), {"ACCELPLUG_SIMULATE": "neuron", "HF_HUB_OFFLINE": "1"}
    found, log = programs.run("native_configurations.py", str(folder), cases, cwd=folder, **environ)
    return dict(zip(CASES, found, strict=True)), log


@pytest.fixture(scope="module")
def said(ran: tuple[dict[str, dict[str, Any]], str]) -> dict[str, dict[str, Any]]:
    return ran[0]


@pytest.fixture(scope="module")
def log(ran: tuple[dict[str, dict[str, Any]], str]) -> str:
    return ran[1]


def test_the_sizes_are_said_at_start(said: dict[str, dict[str, Any]], log: str) -> None:
    assert "steps are padded to 16,32,64,128 tokens" in log
    assert (said["plain"]["tokens"], said["plain"]["sequences"]) == (128, 6)


def test_a_smaller_ladder_lowers_vllms_limits(said: dict[str, dict[str, Any]]) -> None:
    assert (said["ladders"]["tokens"], said["ladders"]["sequences"]) == (48, 4)


@pytest.mark.parametrize(
    ("case", "scheduler"),
    [
        ("plain", f"{SCHEDULERS}.AsyncSlicingScheduler"),
        ("synchronous", f"{SCHEDULERS}.SlicingScheduler"),
        ("not sliced", None),
        ("whole prompts", None),
        ("own scheduler", "vllm.v1.core.sched.scheduler.Scheduler"),
    ],
)
def test_the_scheduler_slices_where_prompts_may_be_cut(
    case: str, scheduler: str | None, said: dict[str, dict[str, Any]]
) -> None:
    assert said[case]["scheduler"] == scheduler


def test_nothing_is_compiled_by_default(said: dict[str, dict[str, Any]]) -> None:
    assert said["plain"]["mode"] == "NONE"


def test_exactly_the_sizes_of_the_ladder_are_compiled(said: dict[str, dict[str, Any]]) -> None:
    assert (said["compiled"]["mode"], said["compiled"]["compile_sizes"]) == ("VLLM_COMPILE", [64, 16])


def test_enforce_eager_has_the_last_word(said: dict[str, dict[str, Any]]) -> None:
    assert said["eager"]["mode"] == "NONE"


@pytest.mark.parametrize(
    ("case", "error"),
    [
        ("compiled whole", "-cc.mode=1: whole models have symbolic shapes and operators of vLLM's"),
        ("misspelt", "accelplug: unknown key 'token'; did you mean 'tokens'?"),
        ("too few tokens", "the largest size, 16, is less than the 32 requests that a step may have"),
        ("prompts too long", "the largest size, 32, is less than --max-model-len 64, and prompts run whole here"),
        ("nothing could run", "no request could run; change one of them"),
    ],
)
def test_what_cannot_work_is_refused_at_start(case: str, error: str, said: dict[str, dict[str, Any]]) -> None:
    assert error in said[case]["error"]
