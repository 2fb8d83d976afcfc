"""`make demo`: the command to ask by oneself, and the report of what ran."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from backend_site import Site
from rich.console import Console

from accelplug.servers import exposition
from tools import demo, demo_report


def test_the_command_to_ask_by_oneself_carries_valid_json() -> None:
    command = demo.curl("http://127.0.0.1:8000", "smollm2")
    body = json.loads(command.partition("-d '")[2].removesuffix("'"))
    assert body["model"] == "smollm2"
    assert body["messages"][0]["content"] == demo.QUESTION


STEPS = """
accelplug_steps_total{device="neuron"} 4.0
accelplug_step_transfers_total{device="neuron",direction="to_device"} 6.0
accelplug_step_transfers_total{device="neuron",direction="to_host"} 4.0
accelplug_bucket_hits_total{bucket="16",part="model"} 3.0
accelplug_bucket_hits_total{bucket="64",part="model"} 1.0
accelplug_bucket_elements_total{kind="real",part="model"} 28.0
accelplug_bucket_elements_total{kind="padding",part="model"} 84.0
"""


def test_its_report_says_what_ran_natively_what_fell_back_and_which_buckets() -> None:
    recorded = (Path(__file__).parents[1] / "servers" / "neuron_after.txt").read_text()
    screen = Console(width=110, record=True, file=io.StringIO())
    screen.print(demo_report.panel(demo_report.since_start("http://box", exposition.parsed(recorded + STEPS), 60.0)))
    said = screen.export_text()
    for words in (
        "neuron (simulated)",
        "% of calls",
        "aten::exponential_",
        "16 × 3 · 64 × 1 steps; 75.0 % of their tokens are padding",
        "1.5 to the device, 1.0 back, in 4 steps",
    ):
        assert words in said


def test_its_report_is_short_where_nothing_can_fall_back() -> None:
    page = 'accelplug_device_info{device="cpu",decided_by="priority",simulated="false",version="1"} 1.0\n'
    screen = Console(width=80, record=True, file=io.StringIO())
    screen.print(demo_report.panel(demo_report.since_start("http://box", exposition.parsed(page), 60.0)))
    assert "ran on it   all of it" in screen.export_text()


def test_a_device_that_is_not_usable_ends_the_demo_before_anything_is_served(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    site.backend("acme", "return Probe(verdict='no_driver', reason='no driver')")
    monkeypatch.setattr(demo, "serving", lambda *arguments, **options: pytest.fail("served"))
    assert demo.demo(demo.parse(["--device", "acme"])) == 1
    assert "no usable device for 'acme'" in capsys.readouterr().out
