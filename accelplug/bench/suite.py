"""Measures every workload on every device, in turns, and keeps what it has after each."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import accelplug
from accelplug import api
from accelplug.bench import models
from accelplug.bench.kept import Kept
from accelplug.bench.processes import Worker
from accelplug.bench.records import Bench, Measured, Roofline, Setup
from accelplug.bench.serving import served, server
from accelplug.bench.task import Request, Task
from accelplug.conformance.subject import Subject, subject
from accelplug.errors import AccelplugError, BadInputError
from accelplug.interpreters import EndedError
from accelplug.specs import Host

ROUNDS = 3
DTYPES = ("bfloat16", "float16", "float32")  # in which models are wanted first
Key = tuple[str, str]

Progress = Callable[[str, int, int], None]
"""Called with what is being measured, how many measurements have ended, and how many there are."""


def run(
    devices: Sequence[str] = (),
    model: str = models.DEFAULT,
    *,
    file: Path,
    dtype: str = "",
    only: Sequence[str] = (),
    quick: bool = False,
    serve: bool = True,
    fresh: bool = False,
    progress: Progress = lambda what, ended, planned: None,
) -> Bench:
    """Measures, and keeps the run in ``file`` after every workload; an unfinished one there is gone on with.

    devices
        Names of backends; none: every one that is usable here.
    model
        A checkpoint (a folder, or OWNER/NAME), which is served too, or the name of known sizes: `models.PUBLISHED`.
    dtype
        Of weights and activations. "": the first of bfloat16, float16 and float32 that every device holds.
    only
        Patterns of names of workloads; nothing is served then.
    quick
        One step of the three, one round, and nothing is served.
    serve
        False: a checkpoint isn't served either.
    fresh
        Begins anew, whatever is in ``file``.

    Nothing is made live in this process. Raises BadInputError for what was asked for, where ``file`` has a run of
    something else, and where several packages offer to serve the checkpoint; AccelplugError where a device is not
    usable, or can't be made live.
    """
    examined = [_usable(name) for name in devices or _usable_here()]
    setup = Setup(
        model=models.sizes(model),
        dtype=_dtype(dtype, examined),
        devices=tuple(each.name for each in examined),
        quick=quick,
        only=tuple(only),
        accelplug=accelplug.__version__,
        torch=Host().version("torch") or "",
        system=f"{platform.system()} {platform.machine()}",
    )
    kept = Kept(file, setup, [each.candidate for each in examined], fresh)
    to_serve = examined if serve and not quick and not only and models.is_checkpoint(model) else []
    to_serve = [each for each in to_serve if kept.bench[each.name].serving is None]
    by = server() if to_serve else None
    if not kept.bench.complete or to_serve:
        _measure(kept, progress, len(to_serve))
        for number, each in enumerate(to_serve):
            progress(f"{each.name}: serving", number, len(to_serve))
            kept.change(each.name, serving=served(by, each.name, model, setup.model, setup.dtype))
        kept.end()
    return kept.bench


def _usable_here() -> list[str]:
    return [candidate.name for candidate in api.devices().candidates if candidate.usable]


def _usable(name: str) -> Subject:
    found = subject(name)
    if not found.candidate.usable:
        candidate = found.candidate
        what = f"; {candidate.remedy}" if candidate.remedy else ""
        raise AccelplugError(f"{name} can't be measured: {candidate.verdict}: {candidate.reason}{what}")
    return found


def _dtype(asked: str, examined: Sequence[Subject]) -> str:
    """The dtype that was asked for, or the first that all devices hold. Raises BadInputError where one doesn't."""
    if asked and asked not in DTYPES:
        raise BadInputError(f"--dtype {asked!r} is not allowed; allowed: {', '.join(DTYPES)}")
    for dtype in (asked,) if asked else DTYPES:
        lacking = [each.name for each in examined if not each.constraints.holds(dtype)]
        if not lacking:
            return dtype
    raise BadInputError(
        f"{', '.join(lacking)} can't hold {dtype}"
        + ("" if asked else f", and not every device the others of {', '.join(DTYPES)}; measure it by itself")
    )


class _Member:
    """A device and the process that measures on it, which is started again after a crash."""

    def __init__(self, device: str, setup: Setup, stack: contextlib.ExitStack) -> None:
        self.device = device
        self._task = Task(device=device, model=setup.model, dtype=setup.dtype, quick=setup.quick, only=setup.only)
        self._stack = stack
        self._worker: Worker | None = stack.enter_context(Worker(self._task))
        self.plan = self._worker.plan

    def ask(self, request: Request) -> dict[str, object]:
        """The answer; where the process ended instead, an ``error`` that says how."""
        if self._worker is None:
            self._worker = self._stack.enter_context(Worker(self._task))
        try:
            return self._worker.ask(request)
        except EndedError as error:
            self._worker = None
            return {"error": str(error)}


def _measure(kept: Kept, progress: Progress, served: int) -> None:
    setup = kept.bench.setup
    rounds = 1 if setup.quick else ROUNDS
    with contextlib.ExitStack() as stack:
        crew = [_Member(device, setup, stack) for device in setup.devices]
        plan = crew[0].plan
        if not plan:
            raise BadInputError(f"no workload is named like {' or '.join(setup.only)}")
        total = len(plan) + 1 + served
        progress("the devices' limits", 0, total)
        for member in crew:
            _limits(member, kept)
        for place, (step, name) in enumerate(plan):
            progress(f"{step}: {name}", place + 1, total)
            waiting = [member for member in crew if kept.bench[member.device].get((step, name)) is None]
            _turns(waiting, place, (step, name), rounds, kept)


def _limits(member: _Member, kept: Kept) -> None:
    """Measures the limits of a device. Without them nothing can be said of it, so not having them is an error."""
    if kept.bench[member.device].roofline is None:
        answer = member.ask(Request())
        if "error" in answer:
            raise AccelplugError(f"{member.device}: its limits can't be measured: {answer['error']}")
        kept.change(member.device, roofline=Roofline.model_validate(answer["roofline"]))


def _turns(waiting: Sequence[_Member], place: int, key: Key, rounds: int, kept: Kept) -> None:
    """Some rounds of one workload, each on every device. One that fails on a device is not asked for again there."""
    found: dict[str, list[Measured]] = {member.device: [] for member in waiting}
    failed: dict[str, str] = {}
    for _ in range(rounds):
        for member in waiting:
            if member.device in failed:
                continue
            answer = member.ask(Request(workload=place))
            if "error" in answer:
                failed[member.device] = str(answer["error"])
            else:
                found[member.device].append(Measured.model_validate(answer["measured"]))
    for device, measured in found.items():
        kept.add(device, _failed(key, failed[device]) if device in failed else _summary(measured))


def _summary(rounds: Sequence[Measured]) -> Measured:
    times = [each.seconds for each in rounds]
    return rounds[0].model_copy(update={"seconds": median(times), "least": min(times), "greatest": max(times)})


def _failed(key: Key, why: str) -> Measured:
    return Measured(step=key[0], name=key[1], error=why)
