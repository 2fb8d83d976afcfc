"""A model shared out over two devices says what it says on one."""

from __future__ import annotations

from typing import Any

from accelplug.conformance.checks import Skip, check, expect
from accelplug.conformance.subject import Subject
from accelplug.specs import Feature
from accelplug_vllm.conformance import engine, expected, here

LIMIT = engine.LIMIT + 60
WORKERS = 2
REMEDY = "look at the area distributed first; each worker's environment comes from DeviceSpec.worker_env"


def _run(subject: Subject) -> engine.Run:
    if reason := subject.cannot(Feature.tensor_parallel):
        raise Skip(reason)
    if not subject.spec.distributed_backend:
        raise Skip("DeviceSpec.distributed_backend is empty: several devices can't work together")
    if subject.candidate.count < WORKERS:
        raise Skip(f"there is {subject.candidate.count} device")
    return engine.run(
        subject,
        expected.prompts(),
        expected.ANSWER,
        tensor_parallel_size=WORKERS,
        distributed_executor_backend="mp",
    )


@check(REMEDY, limit=LIMIT, quick=False)
def two_workers_start_and_end(subject: Subject) -> None:
    _run(subject).must_have_ended_well()


@check(REMEDY, quick=False)
def each_worker_has_its_share_on_a_device(subject: Subject) -> dict[str, Any]:
    workers = _run(subject)["workers"]
    expect(len({worker["process"] for worker in workers}) == WORKERS, "they are not two processes")
    for worker in workers:
        for name in (*worker["weights"], *worker["caches"]):
            expect(name.partition(":")[0] == subject.type, f"a worker has tensors on {name}")
    return {"on": ", ".join(name for worker in workers for name in worker["weights"])}


@check(REMEDY, quick=False)
def greedy_tokens_are_those_of_the_cpu(subject: Subject) -> None:
    wrong = expected.disagreement(expected.prompts(), _run(subject)["answers"], here.dtype_name(subject))
    expect(not wrong, wrong)
