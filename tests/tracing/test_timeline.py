"""Traces read, put together and made into lanes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from accelplug.errors import BadInputError
from accelplug.tracing import Kind, chrome
from accelplug.tracing.kinds import kind
from accelplug.tracing.summary import summary
from accelplug.tracing.timeline import timeline


def event(name: str, ts: float, dur: float, category: str = "cpu_op", pid: int = 7, **args: object) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": 1, "ts": ts, "dur": dur, "args": args}


def trace(*events: dict[str, Any], base: int = 0) -> chrome.Trace:
    return {"baseTimeNanoseconds": base, "traceEvents": list(events)}


FELL_BACK = event("aten::cumsum", 12, 5, "kernel", 0, accelplug="fallback", device="spyre:0 (simulated)", bytes="64")


def test_events_lie_in_each_other_by_time() -> None:
    made = timeline(chrome.merged({"p": trace(event("inner", 12, 2), event("outer", 10, 10), event("after", 20, 1))}))
    (lane,) = made.lanes
    assert [(each.name, each.depth, each.began) for each in lane.events] == [
        ("outer", 0, 0),
        ("inner", 1, 2),
        ("after", 0, 10),
    ]
    assert (lane.depth, made.lasted) == (2, 11)


def test_devices_come_first_and_are_called_what_the_simulator_calls_them() -> None:
    made = timeline(chrome.merged({"worker": trace(event("aten::cumsum", 10, 9), FELL_BACK)}))
    assert [(lane.owner, lane.on_device) for lane in made.lanes] == [("spyre:0 (simulated)", True), ("worker", False)]


def test_processes_are_put_on_one_clock() -> None:
    late = trace(event("second", 5, 1), base=2_000_000)
    early = trace(event("first", 5, 1), base=1_000_000)
    made = timeline(chrome.merged({"late": late, "early": early}))
    began = {each.name: each.began for each in made.events()}
    assert began == {"first": 0, "second": 1000}


def test_processes_and_devices_of_one_number_stay_apart() -> None:
    workers = {f"rank{rank}": trace(event("aten::cumsum", 10, 9), FELL_BACK) for rank in range(2)}
    made = timeline(chrome.merged(workers))
    assert len(made.lanes) == 4
    assert [lane.owner for lane in made.lanes if not lane.on_device] == ["rank0", "rank1"]


def test_arrows_between_events_don_t_meet_those_of_another_process() -> None:
    flow = {"ph": "s", "id": 3, "pid": 7, "tid": 1, "ts": 10, "cat": "ac2g", "name": "ac2g"}
    whole = chrome.merged({"a": trace(event("x", 1, 1), flow), "b": trace(event("x", 1, 1), flow)})
    assert [each["id"] for each in whole["traceEvents"] if each["ph"] == "s"] == ["0.3", "1.3"]


def test_kineto_s_own_bookkeeping_is_left_out() -> None:
    own = {"ph": "X", "cat": "Trace", "ts": 0, "dur": 99, "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch"}
    labels = {"ph": "M", "name": "process_labels", "pid": 3, "tid": 0, "ts": 0, "args": {"labels": "GPU 3"}}
    whole = chrome.merged({"p": trace(own, labels, event("x", 1, 1))})
    assert {each["pid"] for each in whole["traceEvents"]} == {7}


@pytest.mark.parametrize(
    ("name", "category", "args", "expected"),
    [
        ("aten::mm", "kernel", {"accelplug": "native"}, Kind.native),
        ("ampere_sgemm", "kernel", {}, Kind.native),
        ("aten::mm (nki/mm)", "kernel", {"accelplug": "kernel"}, Kind.kernel),
        ("compiled graph 0", "kernel", {"accelplug": "graph with fallbacks"}, Kind.mixed_graph),
        ("Memcpy HtoD", "gpu_memcpy", {}, Kind.transfer),
        ("aten::mm", "cpu_op", {}, Kind.op),
        ("execute_context_1(7)_generation_0(0)", "user_annotation", {}, Kind.step),
        ("ProfilerStep#3", "user_annotation", {}, Kind.step),
        ("accelplug::bucket decode 8", "user_annotation", {}, Kind.bucket),
        ("backend_compile (dynamo_timed)", "cpu_op", {}, Kind.compile),
        ("model.py(3): forward", "python_function", {}, Kind.python),
        ("cudaLaunchKernel", "cuda_runtime", {}, Kind.other),
    ],
)
def test_what_an_event_is(name: str, category: str, args: dict[str, str], expected: Kind) -> None:
    assert kind(event(name, 0, 1, category, **args)) is expected


def test_the_summary_adds_up_by_operator_and_counts_nothing_twice() -> None:
    inner = event("aten::add", 13, 1, "kernel", 0, accelplug="native", device="spyre:0 (simulated)", bytes="8")
    numbers = summary(timeline(chrome.merged({"p": trace(FELL_BACK, {**FELL_BACK, "ts": 30}, inner)})))
    assert numbers.device_microseconds == {"fallback": 10}
    assert [(row.op, row.calls, row.microseconds, row.bytes) for row in numbers.fallbacks] == [
        ("aten::cumsum", 2, 10, 128)
    ]


def test_a_trace_without_events_is_a_timeline_of_none() -> None:
    made = timeline(chrome.merged({"p": trace()}))
    assert (made.lanes, made.lasted) == ((), 0)


def test_packed_or_not_it_is_read_as_written(tmp_path: Path) -> None:
    for name in ("a.json", "a.json.gz"):
        chrome.write(tmp_path / name, trace(FELL_BACK))
        assert chrome.read(tmp_path / name) == trace(FELL_BACK)
    assert json.loads(gzip.decompress((tmp_path / "a.json.gz").read_bytes())) == trace(FELL_BACK)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"a": 1}', b"\xff\xfe"])
def test_what_is_no_trace_is_an_error_with_its_path(tmp_path: Path, content: bytes) -> None:
    for name in ("bad.json", "bad.json.gz"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(BadInputError, match=rf"{name} is no trace that torch\.profiler has written"):
            chrome.read(tmp_path / name)


def test_a_file_that_is_not_there_is_an_error_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"gone\.json can't be read: No such file"):
        chrome.read(tmp_path / "gone.json")
