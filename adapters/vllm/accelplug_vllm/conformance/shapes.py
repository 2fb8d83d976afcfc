"""On a device with static shapes a model is compiled for few sizes, all of them before the first prompt comes."""

from __future__ import annotations

import random
from typing import Any

from accelplug.conformance.checks import Skip, check, expect
from accelplug.conformance.subject import Subject
from accelplug_vllm.conformance import engine, expected, here

LIMIT = engine.LIMIT + 60
SIZES = (16, 64, 128)
REQUESTS = 24
REMEDY = "`accelplug trace` shows what was compiled, and when; docs/static-shapes.md says what decides the sizes"


def _prompts() -> list[list[int]]:
    """Of all lengths, so that steps have all sizes."""
    dice = random.Random(1)
    return expected.prompts([dice.randint(1, 200) for _ in range(REQUESTS)])


def _run(subject: Subject) -> engine.Run:
    if not subject.constraints.static_shapes:
        raise Skip("the device takes any shape: Constraints.static_shapes is false")
    sizes = ",".join(map(str, SIZES))
    options: dict[str, Any] = {"accelplug": {"compile": True, "tokens": sizes}}
    return engine.run(subject, _prompts(), expected.ANSWER, enforce_eager=False, additional_config=options)


@check(REMEDY, limit=LIMIT, quick=False)
def warm_up_compiles_the_model_for_each_size(subject: Subject) -> dict[str, Any]:
    run = _run(subject)
    run.must_have_ended_well()
    warm, _ = run["compiles"]
    expect(warm > 0 and warm % len(SIZES) == 0, f"{warm} graphs were compiled for {len(SIZES)} sizes")
    return {"sizes": ", ".join(map(str, SIZES)), "graphs": warm}


@check(REMEDY, quick=False)
def nothing_is_compiled_after_warm_up(subject: Subject) -> dict[str, Any]:
    run = _run(subject)
    _, since = run["compiles"]
    expect(not since, f"{since} graphs were compiled while {REQUESTS} prompts were answered")
    expect(not run["traced"], f"Dynamo has traced {run['traced']} functions while prompts were answered")
    return {"prompts": 2 * REQUESTS}


@check("look at what pads: a padded token must change no other", quick=False)
def padding_changes_no_token(subject: Subject) -> None:
    wrong = expected.disagreement(_prompts(), _run(subject)["answers"], here.dtype_name(subject))
    expect(not wrong, wrong)
