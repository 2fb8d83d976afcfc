"""Traces in Chrome's format, as torch.profiler writes them and Perfetto reads them: read, put together, written."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from accelplug.errors import BadInputError
from accelplug.files import write_whole
from accelplug.tracing.kinds import DEVICE_CATEGORIES

Trace = dict[str, Any]

BASE = "baseTimeNanoseconds"  # what all times of a trace are after
FLOWS = ("s", "t", "f")
FIRST_DEVICE = 5_000_000  # above what process numbers can be


def read(path: Path) -> Trace:
    """A trace, packed by gzip or not. Raises BadInputError where it is none."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInputError(f"{path} can't be read: {error.strerror or error}") from None
    try:
        found = json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
    except (ValueError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadInputError(f"{path} is no trace that torch.profiler has written: {error}") from None
    if not isinstance(found, dict) or "traceEvents" not in found:
        raise BadInputError(f"{path} is no trace that torch.profiler has written: it has no traceEvents")
    return found


def write(path: Path, trace: Trace) -> None:
    """Writes it, packed where the name ends in ``.gz``. Raises BadInputError where it can't be written."""
    content = json.dumps(trace, separators=(",", ":"), ensure_ascii=False).encode()
    write_whole(path, gzip.compress(content) if path.suffix == ".gz" else content)


def merged(traces: Mapping[str, Trace]) -> Trace:
    """One trace of those of several processes, named by what each is called: one clock, no number used twice.

    What Kineto writes of itself (its spans, names for devices that ran nothing) is left out.
    """
    base = min(int(trace.get(BASE, 0)) for trace in traces.values())
    rest = {key: value for trace in traces.values() for key, value in trace.items() if key != "traceEvents"}
    taken: set[int] = set()
    events: list[dict[str, Any]] = []
    for number, (label, trace) in enumerate(traces.items()):
        events += _moved(trace, label, (int(trace.get(BASE, 0)) - base) / 1e3, number, taken)
    return {**rest, BASE: base, "traceEvents": events}


def is_on_device(event: Mapping[str, Any]) -> bool:
    """Whether a device ran it."""
    return event.get("cat") in DEVICE_CATEGORIES


def _moved(trace: Trace, label: str, shift: float, number: int, taken: set[int]) -> list[dict[str, Any]]:
    """The events of one process, ``shift`` microseconds later, with names for its lanes."""
    own = [event for event in trace["traceEvents"] if isinstance(event.get("pid"), int) and "ts" in event]
    timed = [event for event in own if event["ph"] != "M"]
    devices = {event["pid"]: _device(event) for event in timed if is_on_device(event)}
    pids: dict[int, int] = {}
    for pid in dict.fromkeys(event["pid"] for event in timed):
        new = FIRST_DEVICE if pid in devices else pid
        while new in taken:
            new += 1
        taken.add(new)
        pids[pid] = new
    made = []
    for pid, new in pids.items():
        names = {"process_name": {"name": devices.get(pid, label)}}
        if pid in devices:
            names["process_labels"] = {"labels": label}
        made += [{"ph": "M", "name": name, "pid": new, "tid": 0, "ts": 0, "args": args} for name, args in names.items()]
    for event in own:
        if event["ph"] == "M" and (event["name"] != "thread_name" or event["pid"] not in pids):
            continue
        moved = {**event, "pid": pids[event["pid"]], "ts": event["ts"] + shift}
        if event["ph"] in FLOWS:
            moved["id"] = f"{number}.{event['id']}"
        made.append(moved)
    return made


def _device(event: Mapping[str, Any]) -> str:
    """What the device of an event is called: as the simulator says, else by its number."""
    return str(event.get("args", {}).get("device") or f"device {event['pid']}")
