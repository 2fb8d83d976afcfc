"""Timelines of real runs on simulated devices: device lanes, what fell back, steps, buckets, graphs, compilations."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import accelplug
from accelplug.errors import BadInputError
from accelplug.sim import build
from accelplug.tracing import Event, Kind, Timeline, TraceSummary, chrome
from accelplug.tracing.timeline import timeline

PROGRAM = Path(__file__).with_name("recorded_program.py")


class Recorded:
    def __init__(self, folder: Path, said: str) -> None:
        self.page = (folder / "trace.html").read_text(encoding="utf-8")
        self.trace = chrome.read(folder / "trace.json.gz")
        self.timeline: Timeline = timeline(self.trace)
        self.summary = TraceSummary.model_validate_json(said)

    def on_device(self, kind: Kind) -> list[Event]:
        return self._events(kind, on_device=True)

    def on_host(self, kind: Kind) -> list[Event]:
        return self._events(kind, on_device=False)

    def _events(self, kind: Kind, on_device: bool) -> list[Event]:
        lanes = [lane for lane in self.timeline.lanes if lane.on_device == on_device]
        return [event for lane in lanes for event in lane.events if event.kind is kind]


@pytest.fixture(scope="module", params=["neuron", "spyre"])
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def recorded(device: str, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    build.library()
    folder = tmp_path_factory.mktemp("trace")
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "trace.json.gz", "trace.html"],
        cwd=folder,
        env={**os.environ, "ACCELPLUG_SIMULATE": device, "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Recorded(folder, done.stdout.splitlines()[-1])


def test_the_device_has_a_lane_that_says_it_is_simulated(recorded: Recorded, device: str) -> None:
    assert recorded.timeline.lanes[0].owner == f"{device}:0 (simulated)"
    assert recorded.timeline.lanes[0].on_device


def test_what_fell_back_is_told_from_what_the_device_ran(recorded: Recorded, device: str) -> None:
    fell = {event.name for event in recorded.on_device(Kind.fallback)}
    assert any(name.startswith({"neuron": "aten::linalg_inv", "spyre": "aten::cumsum"}[device]) for name in fell)
    ran = [event.name for kind in (Kind.native, Kind.kernel) for event in recorded.on_device(kind)]
    assert any(name.startswith("aten::mm") for name in ran)
    assert not any(name.startswith("aten::mm") for name in fell)


def test_copies_are_there_with_their_direction_and_size(recorded: Recorded) -> None:
    to_device = [event for event in recorded.on_device(Kind.transfer) if event.name == "Memcpy HtoD"]
    assert to_device[0].facts["bytes"] == str(128 * 128 * 2)
    assert any(event.name == "Memcpy DtoH" for event in recorded.on_device(Kind.transfer))


def test_each_operator_lies_on_the_host_around_what_the_device_did_for_it(recorded: Recorded) -> None:
    (step,) = recorded.on_host(Kind.step)
    fell = recorded.on_device(Kind.fallback)[0]
    assert step.began <= fell.began <= fell.ended <= step.ended, "host and device have one clock"
    for done in (event for kind in (Kind.native, Kind.kernel, Kind.fallback) for event in recorded.on_device(kind)):
        name = done.name.partition(" ")[0].partition(".")[0]  # without the kernel that ran, and the overload
        asked = [event for event in recorded.on_host(Kind.op) if event.name == name]
        assert any(event.began <= done.began and done.ended <= event.ended for event in asked), done


def test_a_bucket_is_named(recorded: Recorded) -> None:
    assert [event.name for event in recorded.on_host(Kind.bucket)] == ["accelplug::bucket prefill 128"]


def test_a_compiled_graph_and_its_compilation_are_there(recorded: Recorded) -> None:
    graphs = recorded.on_device(Kind.graph) + recorded.on_device(Kind.mixed_graph)
    assert [event.name.split(" (")[0] for event in graphs] == ["compiled graph 0"]
    assert recorded.on_host(Kind.compile)


def test_the_summary_is_that_of_the_trace(recorded: Recorded) -> None:
    assert recorded.summary.files == ("trace.json.gz", "trace.html")
    assert recorded.summary.steps == 1
    assert recorded.summary.by_kind["fallback"] == len(recorded.on_device(Kind.fallback))
    assert recorded.summary.fallbacks[0].op in {event.name for event in recorded.on_device(Kind.fallback)}


def test_the_page_loads_nothing(recorded: Recorded) -> None:
    assert recorded.page.startswith("<!DOCTYPE html>")
    for loading in ("src=", "href=", "http://", "https://", "@import", "url(", "fetch("):
        assert loading not in recorded.page
    assert "(simulated)" in recorded.page


def test_on_the_cpu_there_are_the_hosts_lanes_and_the_summary_says_so(tmp_path: Path) -> None:
    import torch

    with accelplug.trace(tmp_path / "trace.json", html=tmp_path / "trace.html") as recording:
        torch.ones(4).add(1)
    assert not any(lane.on_device for lane in recording.timeline.lanes)
    assert any(event.name == "aten::add" for event in recording.timeline.events())
    assert "no device has recorded anything" in (tmp_path / "trace.html").read_text()


def test_it_is_written_also_where_the_block_ends_in_an_exception(tmp_path: Path) -> None:
    import torch

    def fails() -> None:
        torch.ones(4).add(1)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), accelplug.trace(tmp_path / "trace.json"):
        fails()
    assert chrome.read(tmp_path / "trace.json")["traceEvents"]


def test_a_folder_that_is_not_there_is_an_error_before_anything_runs(tmp_path: Path) -> None:
    ran = False
    with (
        pytest.raises(BadInputError, match=r"html='.*there is no folder"),
        accelplug.trace(tmp_path / "trace.json", html=tmp_path / "missing" / "trace.html"),
    ):
        ran = True
    assert not ran
