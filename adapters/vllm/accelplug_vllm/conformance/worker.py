"""vLLM's worker starts on the device, puts weights and cache there, and greedy decoding gives the CPU's tokens."""

from __future__ import annotations

from typing import Any

from accelplug.conformance.checks import check, expect
from accelplug.conformance.subject import Subject
from accelplug_vllm.conformance import engine, expected, here

LIMIT = engine.LIMIT + 60
REMEDY = "run the check alone: what vLLM says is on standard error; `accelplug doctor` knows the usual reasons"


def _run(subject: Subject) -> engine.Run:
    return engine.run(subject, expected.prompts(), expected.ANSWER)


@check(REMEDY, limit=LIMIT, quick=False)
def an_engine_starts_on_the_device_and_ends(subject: Subject) -> None:
    run = _run(subject)
    run.must_have_ended_well()
    expect(run["platform"] == subject.type, f"vLLM ran on {run['platform']}, not on {subject.type}")


@check("a vendor's worker comes from the hook accelplug_platform; else look at DeviceSpec.load", quick=False)
def the_weights_and_the_cache_are_on_the_device(subject: Subject) -> dict[str, Any]:
    (worker,) = _run(subject)["workers"]
    for what in ("weights", "caches"):
        there = {name.partition(":")[0] for name in worker[what]}
        expect(there == {subject.type}, f"the {what} are on {', '.join(worker[what])}")
    return {"on": ", ".join(worker["weights"])}


@check("the size of a cache follows from its layout: hook accelplug_attention", quick=False)
def the_cache_takes_no_more_memory_than_it_was_given(subject: Subject) -> dict[str, Any]:
    (worker,) = _run(subject)["workers"]
    given = here.small("float32")["kv_cache_memory_bytes"]
    expect(0 < worker["cache_bytes"] <= given, f"it takes {worker['cache_bytes']} bytes of {given}")
    return {"bytes": worker["cache_bytes"]}


@check("look at the areas vllm_attention, vllm_kernels and ops: one of the parts is wrong", quick=False)
def greedy_tokens_are_those_of_the_cpu(subject: Subject) -> dict[str, Any]:
    answers = _run(subject)["answers"]
    dtype = here.dtype_name(subject)
    wrong = expected.disagreement(expected.prompts(), answers, dtype)
    expect(not wrong, wrong)
    return {"dtype": dtype, "tokens": sum(map(len, answers))}


@check("something is read that was not written: fill the cache with NaN, and look where one comes out", quick=False)
def the_same_prompts_again_get_the_same_tokens(subject: Subject) -> None:
    run = _run(subject)
    expect(run["answers"] == run["again"], "the second answers differ from the first")
