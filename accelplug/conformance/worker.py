"""The process that runs checks: one line of JSON before and after each, so that a crash can be pinned to a check.

Started by `accelplug.conformance.processes`.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
import traceback
from collections.abc import Callable

from accelplug.conformance.areas.area import Area
from accelplug.conformance.catalogue import find
from accelplug.conformance.checks import NamedCheck, Result, Skip
from accelplug.conformance.records import Check, Outcome
from accelplug.conformance.subject import Subject, subject
from accelplug.conformance.task import Task
from accelplug.interpreters import voice

LONGEST = 600  # characters of an exception's message that a report keeps


def main(task: str) -> None:
    """Runs a task and says what happens."""
    say = voice()
    run(Task.model_validate_json(task), say)
    say(end=True)


def run(task: Task, say: Callable[..., None]) -> None:
    """Says ``plan`` (name to seconds), then for each check ``start`` and ``check``."""
    (area,) = find([task.area])
    examined = subject(task.device, task.quick)
    if area.live:
        _make_live(examined, task.threads)
    planned = [check for check in _checks(area, examined) if task.wants(check.name, check.quick)]
    planned = [check for check in planned[task.shard :: task.shards] if check.name not in task.done]
    say(plan={check.name: check.limit for check in planned})
    for check in planned:
        say(start=check.name)
        say(check=_run(area, check, examined).model_dump(mode="json"))


def _make_live(examined: Subject, threads: int) -> None:
    import torch

    torch.set_num_threads(threads)
    examined.live()


def _checks(area: Area, examined: Subject) -> list[NamedCheck]:
    module = importlib.import_module(area.module)
    return list(module.checks(examined) if hasattr(module, "checks") else module.CHECKS)


def _run(area: Area, check: NamedCheck, examined: Subject) -> Check:
    started = time.perf_counter()
    outcome, why, data = Outcome.passed, "", {}
    try:
        found = check.function(examined)
        if isinstance(found, Result):
            outcome, why, data = found.outcome, _shortened(found.why), found.data
        else:
            data = found or {}
    except Skip as skip:
        outcome, why = Outcome.skipped, str(skip)
    except AssertionError as error:
        outcome, why = Outcome.failed, _shortened(str(error) or _place(error))
    except (Exception, SystemExit) as error:
        outcome, why = Outcome.error, _shortened(f"{type(error).__name__}: {error} ({_place(error)})")
        traceback.print_exc(file=sys.stderr)
    return Check(
        area=area.name,
        name=check.name,
        outcome=outcome,
        why=why,
        remedy=check.remedy if outcome.wrong else "",
        seconds=round(time.perf_counter() - started, 4),
        data=data,
    )


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"


def _place(error: BaseException) -> str:
    """The line of the check that the exception came through last."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "conformance" in frame.filename] or frames
    return f"{os.path.basename(ours[-1].filename)}:{ours[-1].lineno}: {ours[-1].line}"
