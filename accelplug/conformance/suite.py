"""Runs the areas of conformance for one backend, and makes the report."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone

import accelplug
from accelplug.conformance.areas import Area, find
from accelplug.conformance.processes import Crew
from accelplug.conformance.records import AreaReport, Check, ConformanceReport, Outcome
from accelplug.conformance.subject import Subject, subject
from accelplug.conformance.task import Task
from accelplug.errors import BadInputError
from accelplug.specs import Host

Progress = Callable[[str, int, int], None]
"""Called with an area's name, the number of checks that have ended since, and of those that were planned since."""

USABLE = "the device is usable"
MOST_JOBS = 8  # processes at a time; each imports torch, and may hold a device


def run(
    device: str,
    *,
    areas: Sequence[str] = (),
    only: Sequence[str] = (),
    quick: bool = False,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> ConformanceReport:
    """Examines a backend and its device: all areas, or the named ones. Nothing is made live in this process.

    ``only`` are shell patterns of names of checks (in the area `ops` these are operators). ``quick`` runs a sample.
    ``jobs`` is how many processes work at a time: as many as there are cores unless given, one where the device can be
    open in one process only. Raises BadInputError for a name that no backend has, an area that doesn't exist, and for
    patterns that no check matches.
    """
    wanted = find(areas)
    started, since = datetime.now(timezone.utc), time.perf_counter()
    examined = subject(device, quick)
    if examined.candidate.usable:
        checks = _run(examined, wanted, tuple(only), jobs, progress or (lambda area, ended, planned: None))
    else:
        checks = {area.name: [_unusable(area, examined)] for area in wanted}
    if only and not any(checks.values()):
        raise BadInputError(f"no check in {', '.join(a.name for a in wanted)} is named like {' or '.join(only)}")
    candidate = examined.candidate
    return ConformanceReport(
        device=device,
        title=candidate.title,
        simulated=candidate.simulated,
        ran_on=candidate.ran_on,
        verdict=str(candidate.verdict),
        reason=candidate.reason,
        backend=candidate.distribution,
        accelplug=accelplug.__version__,
        torch=Host().version("torch") or "",
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        details=candidate.details,
        quick=quick,
        only=tuple(only),
        started=started.isoformat(timespec="seconds"),
        seconds=round(time.perf_counter() - since, 2),
        areas=tuple(
            AreaReport(name=area.name, title=area.title, version=area.version, checks=tuple(checks[area.name]))
            for area in wanted
            if checks[area.name]
        ),
    )


def _unusable(area: Area, examined: Subject) -> Check:
    """What an area says of a device that can't be used: its probe is at fault, or the machine; the rest is left out."""
    candidate = examined.candidate
    why = f"{candidate.verdict}: {candidate.reason}"
    if area.name == "probe":
        return Check(area=area.name, name=USABLE, outcome=Outcome.failed, why=why, remedy=candidate.remedy)
    return Check(area=area.name, name=USABLE, outcome=Outcome.skipped, why=why)


def _run(
    examined: Subject, wanted: Sequence[Area], only: tuple[str, ...], jobs: int | None, progress: Progress
) -> dict[str, list[Check]]:
    """The checks of each area, in the area's own order whatever ended first."""
    at_a_time = jobs or (1 if examined.exclusive else _cores())
    threads = max(1, _cores() // at_a_time)
    tasks = [
        Task(
            device=examined.name,
            area=area.name,
            quick=examined.quick,
            only=only,
            shard=shard,
            shards=_shards(area, examined.quick, at_a_time),
            threads=threads,
        )
        for area in sorted(wanted, key=lambda area: not area.slow)
        for shard in range(_shards(area, examined.quick, at_a_time))
    ]

    def work(task: Task) -> list[Check]:
        return crew.run(
            task,
            planned=lambda number: progress(task.area, 0, number),
            seen=lambda check: progress(task.area, 1, 0),
        )

    crew = Crew()
    found: dict[str, list[Check]] = {area.name: [] for area in wanted}
    with ThreadPoolExecutor(at_a_time, thread_name_prefix="accelplug-conform") as pool:
        try:
            for task, checks in zip(tasks, pool.map(work, tasks), strict=True):
                found[task.area] += checks
        except BaseException:
            crew.stop()
            raise
    return found


def _shards(area: Area, quick: bool, at_a_time: int) -> int:
    return 1 if quick else min(area.shards, at_a_time)


def _cores() -> int:
    available = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(available, MOST_JOBS)
