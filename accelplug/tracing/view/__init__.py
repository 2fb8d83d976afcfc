"""The timeline as a page: one file that loads nothing, and draws only what is in sight."""

from __future__ import annotations

from collections.abc import Hashable
from html import escape
from pathlib import Path
from typing import Any

from accelplug.files import write_whole
from accelplug.reporting import units
from accelplug.reporting.templates import in_script
from accelplug.tracing.summary import OpTime, TraceSummary
from accelplug.tracing.timeline import Lane, Timeline

HERE = Path(__file__).parent
COLUMNS = ("operator", "calls", "time", "bytes")


def write(path: Path, timeline: Timeline, numbers: TraceSummary) -> None:
    """Writes the page. Raises BadInputError where it can't be written."""
    write_whole(path, page(timeline, numbers))


def page(timeline: Timeline, numbers: TraceSummary) -> str:
    """The page as text."""
    filled = _text("page.html")
    for name, text in {
        "style": _text("page.css"),
        "facts": "".join(f"<li>{escape(fact)}</li>" for fact in _facts(numbers)),
        "tables": _table("Fell back to the CPU", numbers.fallbacks) + _table("Most time on devices", numbers.slowest),
        "script": _text("drawing.js") + _text("using.js"),
        "data": in_script(_data(timeline)),
    }.items():
        before, mark, after = filled.partition(f"<!-- {name} -->")
        assert mark, f"page.html has a place for {name}"
        filled = before + text + after
    return filled


def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _facts(numbers: TraceSummary) -> list[str]:
    """What is said above the timeline."""
    said = [f"{units.duration(round(numbers.microseconds * 1e3))} in all"]
    if numbers.steps:
        said.append(f"{units.count(numbers.steps)} step{'s' * (numbers.steps != 1)}")
    for kind, time in sorted(numbers.device_microseconds.items(), key=lambda each: -each[1]):
        said.append(f"{kind}: {units.duration(round(time * 1e3))} on devices")
    if not numbers.device_microseconds:
        said.append("no device has recorded anything")
    return said


def _table(title: str, rows: tuple[OpTime, ...]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{column}</th>" for column in COLUMNS)
    cells = (
        (row.op, units.count(row.calls), units.duration(round(row.microseconds * 1e3)), units.size(row.bytes))
        for row in rows
    )
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in cells)
    return f"<section><h2>{title}</h2><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></section>"


class _Numbered:
    """Gives the same thing the same number, and keeps each once."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}

    def __call__(self, thing: Hashable) -> int:
        return self.numbers.setdefault(thing, len(self.numbers))


def _data(timeline: Timeline) -> dict[str, Any]:
    """What the script reads: names, kinds and facts once each, times as whole nanoseconds, one after the other."""
    names, kinds, facts = _Numbered(), _Numbered(), _Numbered()
    lanes = [_lane(lane, names, kinds, facts) for lane in timeline.lanes]
    return {
        "lasted": round(timeline.lasted * 1e3),
        "names": list(names.numbers),
        "kinds": list(kinds.numbers),
        "facts": [dict(each) for each in facts.numbers],  # type: ignore[call-overload]
        "lanes": lanes,
    }


def _lane(lane: Lane, names: _Numbered, kinds: _Numbered, facts: _Numbered) -> dict[str, Any]:
    began = [round(event.began * 1e3) for event in lane.events]
    return {
        "owner": lane.owner,
        "name": lane.name,
        "device": lane.on_device,
        "rows": lane.depth,
        "gaps": [now - before for before, now in zip([0, *began], began, strict=False)],
        "lasted": [round(event.lasted * 1e3) for event in lane.events],
        "depth": [event.depth for event in lane.events],
        "name_of": [names(event.name) for event in lane.events],
        "kind_of": [kinds(event.kind.value) for event in lane.events],
        "facts_of": [facts(tuple(event.facts.items())) for event in lane.events],
    }
