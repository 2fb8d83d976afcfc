"""The page of a timeline: what its script is given."""

from __future__ import annotations

import json
import re
from typing import Any

from accelplug.tracing import Event, Kind, Lane, Timeline
from accelplug.tracing.summary import summary
from accelplug.tracing.view import page


def made(*events: Event, on_device: bool = True) -> Timeline:
    return Timeline((Lane("spyre:0 (simulated)", "stream 0", on_device, events),), max(each.ended for each in events))


def data(timeline: Timeline) -> dict[str, Any]:
    (found,) = re.findall(r'id="data">(.*?)</script>', page(timeline, summary(timeline)), re.DOTALL)
    return dict(json.loads(found))


def test_the_script_is_given_each_event_once_and_each_name_once() -> None:
    given = data(
        made(
            Event("aten::mm", Kind.native, 0.0, 2.5, 0, {"bytes": "64"}),
            Event("aten::mm", Kind.fallback, 3.001, 1.0, 0),
        )
    )
    assert (given["names"], given["kinds"], given["facts"]) == (
        ["aten::mm"],
        ["native", "fallback"],
        [{"bytes": "64"}, {}],
    )
    (lane,) = given["lanes"]
    assert (lane["gaps"], lane["lasted"]) == ([0, 3001], [2500, 1000]), "nanoseconds, each after the one before"
    assert (lane["name_of"], lane["kind_of"], lane["facts_of"]) == ([0, 0], [0, 1], [0, 1])


def test_a_name_can_not_end_the_script_or_become_markup() -> None:
    name = "</script><script>alert(1)</script><!--"
    timeline = made(Event(name, Kind.fallback, 0.0, 1.0, 0))
    assert data(timeline)["names"] == [name]
    assert name not in page(timeline, summary(timeline))


def test_fifty_thousand_events_make_a_page_of_a_few_megabytes() -> None:
    names = [f"aten::op{number}" for number in range(200)]
    events = [
        Event(names[i % 200], (Kind.native, Kind.fallback)[i % 7 == 0], i * 10.0, 9.0, 0, {"bytes": str(i % 50)})
        for i in range(50_000)
    ]
    timeline = made(*events)
    assert len(page(timeline, summary(timeline))) < 3_000_000
