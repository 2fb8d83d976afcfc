"""A trace as lanes of events that lie in each other, which is what is drawn and counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from accelplug.tracing import chrome
from accelplug.tracing.kinds import Kind, kind

SHOWN = {"bytes": "bytes", "Input Dims": "shapes", "Input type": "types"}  # arguments that people read, and their names


@dataclass(frozen=True)
class Event:
    """Something that took time. ``began`` is in microseconds after the timeline's first event, ``lasted`` too;
    ``depth`` is how many others of its lane it lies in."""

    name: str
    kind: Kind
    began: float
    lasted: float
    depth: int
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def ended(self) -> float:
        return self.began + self.lasted


@dataclass(frozen=True)
class Lane:
    """What one thread of a process, or one stream of a device, did, by time. ``owner`` is that process or device."""

    owner: str
    name: str
    on_device: bool
    events: tuple[Event, ...]

    @property
    def depth(self) -> int:
        """How many rows it takes."""
        return 1 + max(event.depth for event in self.events)


@dataclass(frozen=True)
class Timeline:
    """Lanes, devices first; ``lasted`` is in microseconds."""

    lanes: tuple[Lane, ...]
    lasted: float

    def events(self) -> Iterable[Event]:
        """All events, lane by lane."""
        for lane in self.lanes:
            yield from lane.events


def timeline(trace: chrome.Trace) -> Timeline:
    """Of a trace that `chrome.merged` has made."""
    names = _names(trace)
    lanes: dict[tuple[int, Any], list[dict[str, Any]]] = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            lanes.setdefault((event["pid"], event["tid"]), []).append(event)
    first = min((event["ts"] for events in lanes.values() for event in events), default=0.0)
    made = []
    for (pid, tid), events in lanes.items():
        on_device = any(map(chrome.is_on_device, events))
        name = f"stream {tid}" if on_device else names.get((pid, tid), f"thread {tid}")
        made.append(Lane(names.get((pid, None), str(pid)), name, on_device, _nested(events, first)))
    made.sort(key=lambda lane: (not lane.on_device, lane.owner, lane.events[0].began))
    return Timeline(tuple(made), max((event.ended for lane in made for event in lane.events), default=0.0))


def _names(trace: chrome.Trace) -> dict[tuple[int, Any], str]:
    """Of processes (None as the thread) and threads."""
    found = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "M" and event["name"] == "process_name":
            found[event["pid"], None] = str(event["args"]["name"])
        elif event["ph"] == "M" and event["name"] == "thread_name":
            found[event["pid"], event["tid"]] = str(event["args"]["name"])
    return found


def _nested(events: list[dict[str, Any]], first: float) -> tuple[Event, ...]:
    """By time, what lies in something after it. What overlaps without lying in each other gets rows of its own."""
    made: list[Event] = []
    free: list[float] = []  # when each row is free again
    for event in sorted(events, key=lambda event: (event["ts"], -event.get("dur", 0))):
        began = event["ts"] - first
        while free and free[-1] <= began:
            free.pop()
        made.append(
            Event(
                event["name"], kind(event), began, float(event.get("dur", 0)), len(free), _facts(event.get("args", {}))
            )
        )
        free.append(began + event.get("dur", 0))
    return tuple(made)


def _facts(arguments: Mapping[str, Any]) -> dict[str, str]:
    return {shown: str(arguments[name]) for name, shown in SHOWN.items() if arguments.get(name) not in (None, "", [])}
