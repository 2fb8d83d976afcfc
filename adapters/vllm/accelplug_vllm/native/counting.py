"""Counts what the worker of this process runs, for the process that serves ``/metrics``."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from accelplug.buckets import BucketUsage, Usage

EVERY = 1.0  # seconds
SUFFIX = ".json"

MODEL = Usage("model")  # of this process


def tell(folder: str) -> None:
    """From now on writes the counts to a file in ``folder`` whenever they have changed, from a thread of its own."""
    threading.Thread(target=_write, args=(Path(folder),), name="accelplug-counts", daemon=True).start()


def told(folder: str) -> list[BucketUsage]:
    """What all processes have written, added up by part."""
    by_part: dict[str, list[BucketUsage]] = {}
    for path in sorted(Path(folder).glob(f"*{SUFFIX}")):
        usage = BucketUsage.model_validate_json(path.read_text())
        by_part.setdefault(usage.part, []).append(usage)
    return [_sum(part, usages) for part, usages in by_part.items()]


def _write(folder: Path) -> None:
    before = None
    while folder.is_dir():  # it goes with the server
        now = MODEL.snapshot()
        if now != before:
            part = folder / f"{os.getpid()}.part"
            part.write_text(now.model_dump_json())
            part.replace(part.with_suffix(SUFFIX))  # never seen half written
            before = now
        time.sleep(EVERY)


def _sum(part: str, usages: list[BucketUsage]) -> BucketUsage:
    hits: dict[str, int] = {}
    for usage in usages:
        for bucket, calls in usage.hits.items():
            hits[bucket] = hits.get(bucket, 0) + calls
    counts = ("real", "padding", "compiles", "compiles_in_service")
    return BucketUsage(part=part, hits=hits, **{name: sum(getattr(u, name) for u in usages) for name in counts})
