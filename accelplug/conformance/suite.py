"""Runs the areas of conformance for one backend, and makes the report."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from datetime import datetime, timezone
from typing import Any

import accelplug
from accelplug.conformance.areas.area import Area
from accelplug.conformance.catalogue import areas as all_areas
from accelplug.conformance.catalogue import find
from accelplug.conformance.content import content, version_of
from accelplug.conformance.keeping import reusable
from accelplug.conformance.levels import areas_of, standing
from accelplug.conformance.processes import Crew
from accelplug.conformance.records import AreaReport, Check, ConformanceReport, Outcome
from accelplug.conformance.subject import Subject, subject
from accelplug.conformance.task import Task
from accelplug.errors import BadInputError

Progress = Callable[[str, int, int], None]
"""Called with an area's name, the number of checks that have ended since, and of those that were planned since."""

USABLE = "the device is usable"
MOST_JOBS = 8  # processes at a time; each imports torch, and may hold a device


def run(
    device: str,
    *,
    areas: Sequence[str] = (),
    level: str = "",
    only: Sequence[str] = (),
    quick: bool = False,
    jobs: int | None = None,
    progress: Progress | None = None,
    kept: ConformanceReport | None = None,
    keep: Callable[[ConformanceReport], None] | None = None,
) -> ConformanceReport:
    """Examines a backend and its device: all areas, the named ones, or those that a ``level`` asks for.

    Nothing is made live in this process. ``only`` are shell patterns of names of checks (in the area `ops` these are
    operators). ``quick`` runs a sample. ``jobs`` is how many processes work at a time: as many as there are cores
    unless given, one where the device can be open in one process only.

    ``keep`` is given the report as it grows, after each area. With an earlier one as ``kept``, what it has is not
    run again; `keeping.reusable` says when that holds.

    Raises BadInputError for a name that no backend has, an area or a level that doesn't exist, and for patterns that no
    check matches.
    """
    wanted = find(areas or (areas_of(level) if level else ()))
    started, since = datetime.now(timezone.utc), time.perf_counter()
    examined = subject(device, quick)
    about = _about(examined, tuple(only)) | {"started": started.isoformat(timespec="seconds")}

    def report(found: Mapping[str, AreaReport]) -> ConformanceReport:
        in_order = tuple(found[area.name] for area in all_areas() if area.name in found)
        seconds = round(time.perf_counter() - since, 2)
        sample = "a sample (--quick)" if quick else "some checks (--only)" if only else ""
        return ConformanceReport(**about, seconds=seconds, areas=in_order, standing=standing(in_order, sample))

    found = reusable(kept, report({})) if kept else {}
    for area, checks in _examine(examined, [a for a in wanted if a.name not in found], tuple(only), jobs, progress):
        if checks:
            found[area.name] = AreaReport(name=area.name, title=area.title, version=area.version, checks=tuple(checks))
        if keep is not None:
            keep(report(found))
    if only and not found:
        raise BadInputError(f"no check in {', '.join(a.name for a in wanted)} is named like {' or '.join(only)}")
    return report(found)


def _about(examined: Subject, only: tuple[str, ...]) -> dict[str, Any]:
    """What a report says beside what was found."""
    candidate = examined.candidate
    return {
        "device": examined.name,
        "title": candidate.title,
        "simulated": candidate.simulated,
        "ran_on": candidate.ran_on,
        "verdict": str(candidate.verdict),
        "reason": candidate.reason,
        "backend": candidate.distribution,
        "accelplug": accelplug.__version__,
        "torch": version_of("torch"),
        "vllm": version_of("vllm"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "details": candidate.details,
        "content": content(examined, all_areas()),
        "quick": examined.quick,
        "only": only,
    }


def _examine(
    examined: Subject, wanted: Sequence[Area], only: tuple[str, ...], jobs: int | None, progress: Progress | None
) -> Iterator[tuple[Area, list[Check]]]:
    """Each area with its checks, in the area's own order whatever ended first; areas as they end."""
    can_run = [area for area in wanted if examined.candidate.usable and not area.missing]
    for area in wanted:
        if area not in can_run and not (only and examined.candidate.usable):
            yield area, [_left_out(area, examined)]
    at_a_time = jobs or (1 if examined.exclusive else _cores())
    threads = max(1, _cores() // at_a_time)
    crew, tell = Crew(), progress or (lambda area, ended, planned: None)

    def work(task: Task) -> list[Check]:
        return crew.run(
            task,
            planned=lambda number: tell(task.area, 0, number),
            seen=lambda check: tell(task.area, 1, 0),
        )

    with ThreadPoolExecutor(at_a_time, thread_name_prefix="accelplug-conform") as pool:
        try:
            parts = {
                area.name: [pool.submit(work, task) for task in _tasks(area, examined, only, at_a_time, threads)]
                for area in sorted(can_run, key=lambda area: not area.slow)
            }
            by_name = {area.name: area for area in can_run}
            for name in _as_they_end(parts):
                yield by_name[name], [check for part in parts[name] for check in part.result()]
        except BaseException:
            crew.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _tasks(area: Area, examined: Subject, only: tuple[str, ...], at_a_time: int, threads: int) -> list[Task]:
    shards = 1 if examined.quick else min(area.shards, at_a_time)
    given: dict[str, Any] = {"device": examined.name, "area": area.name, "quick": examined.quick, "only": only}
    return [Task(**given, shard=shard, shards=shards, threads=threads) for shard in range(shards)]


def _as_they_end(parts: Mapping[str, Sequence[Future[list[Check]]]]) -> Iterator[str]:
    """The names whose parts have all ended, each as soon as that is so."""
    name_of = {part: name for name, of_name in parts.items() for part in of_name}
    left = {name: len(of_name) for name, of_name in parts.items()}
    for part in as_completed(name_of):
        left[name_of[part]] -= 1
        if not left[name_of[part]]:
            yield name_of[part]


def _left_out(area: Area, examined: Subject) -> Check:
    """What an area says of a device that can't be used (its probe is at fault, or the machine), or says without what it
    is about."""
    candidate = examined.candidate
    if candidate.usable:
        return Check(area=area.name, name=f"{area.needs} is installed", outcome=Outcome.skipped, why=area.missing)
    why = f"{candidate.verdict}: {candidate.reason}"
    if area.name == "probe":
        return Check(area=area.name, name=USABLE, outcome=Outcome.failed, why=why, remedy=candidate.remedy)
    return Check(area=area.name, name=USABLE, outcome=Outcome.skipped, why=why)


def _cores() -> int:
    available = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(available, MOST_JOBS)
