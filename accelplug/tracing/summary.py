"""What a timeline comes to: time by kind, and the operators that fell back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from accelplug.specs.record import Record
from accelplug.tracing.kinds import Kind
from accelplug.tracing.timeline import Event, Timeline

MOST = 10  # operators that are listed


class OpTime(Record):
    """What one operator took on devices, all its calls together; ``bytes`` is what hardware would have moved."""

    op: str
    calls: int
    microseconds: float
    bytes: int


class TraceSummary(Record):
    """A trace in numbers.

    files
        What was written.
    answer
        What the model answered, where a request was traced.
    microseconds
        From the first event to the last.
    lanes
        ``"neuron:0 (simulated) / stream 0"``, as they are shown.
    by_kind
        Events of each kind: how many.
    device_microseconds
        Time on devices by kind, of the outermost events.
    steps
        How many steps of an engine, or of a training loop, are in it.
    slowest, fallbacks
        The operators that took most time on devices: all of them, and those that fell back to the CPU.
    """

    files: tuple[str, ...] = ()
    answer: str | None = None
    microseconds: float
    lanes: tuple[str, ...]
    by_kind: dict[str, int]
    device_microseconds: dict[str, float]
    steps: int
    slowest: tuple[OpTime, ...]
    fallbacks: tuple[OpTime, ...]


def summary(timeline: Timeline, files: Iterable[str] = (), answer: str | None = None) -> TraceSummary:
    """The numbers of a timeline."""
    by_kind: dict[str, int] = defaultdict(int)
    for event in timeline.events():
        by_kind[event.kind.value] += 1
    on_device = [event for lane in timeline.lanes if lane.on_device for event in lane.events if event.depth == 0]
    microseconds: dict[str, float] = defaultdict(float)
    for event in on_device:
        microseconds[event.kind.value] += event.lasted
    return TraceSummary(
        files=tuple(files),
        answer=answer,
        microseconds=round(timeline.lasted, 3),
        lanes=tuple(f"{lane.owner} / {lane.name}" for lane in timeline.lanes),
        by_kind=dict(by_kind),
        device_microseconds={kind: round(time, 3) for kind, time in microseconds.items()},
        steps=by_kind.get(Kind.step, 0),
        slowest=_most(on_device),
        fallbacks=_most([event for event in on_device if event.kind is Kind.fallback]),
    )


def _most(events: Iterable[Event]) -> tuple[OpTime, ...]:
    calls: dict[str, int] = defaultdict(int)
    time: dict[str, float] = defaultdict(float)
    moved: dict[str, int] = defaultdict(int)
    for event in events:
        calls[event.name] += 1
        time[event.name] += event.lasted
        moved[event.name] += int(event.facts.get("bytes", 0))
    names = sorted(calls, key=lambda name: (-time[name], name))[:MOST]
    return tuple(
        OpTime(op=name, calls=calls[name], microseconds=round(time[name], 3), bytes=moved[name]) for name in names
    )
