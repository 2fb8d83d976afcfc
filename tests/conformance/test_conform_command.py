"""``accelplug conform``: exit codes, the table, JSON as its schema says, and the page."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from accelplug.cli.conform import complete_area, complete_name
from accelplug.conformance import AreaReport, Check, ConformanceReport, Outcome
from accelplug.conformance.page import page
from accelplug.conformance.summary import headline, ops_line
from accelplug.specs import RanOn

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "reference" / "cli-schema.json").read_text())
Conform = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def conform(library: Path, tmp_path: Path) -> Conform:
    """``conform("cpu", "--json", NO_COLOR="1")``: the command in a process of its own."""

    def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "accelplug", "conform", *arguments],
            cwd=tmp_path,
            env={**os.environ, **environ},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


def test_json_is_as_the_schema_says_and_has_what_the_judgement_rests_on(conform: Conform) -> None:
    areas, only = ["--area", "rng", "--area", "ops"], ["--only", "a seed*", "--only", "exp"]
    done = conform("spyre", *areas, *only, "--json", ACCELPLUG_SIMULATE="spyre")
    report = json.loads(done.stdout)
    jsonschema.validate(report, {"$ref": "#/$defs/output-conform", "$defs": SCHEMA["$defs"]})
    assert (done.returncode, done.stderr) == (0, "")
    assert (report["device"], report["simulated"], report["ran_on"], report["ok"]) == ("spyre", True, "simulator", True)
    assert report["torch"]
    assert report["backend"].startswith("accelplug ")
    assert [(area["name"], area["counts"]["passed"]) for area in report["areas"]] == [("rng", 1), ("ops", 1)]


def test_the_table_has_a_row_for_each_area_and_says_simulated(conform: Conform) -> None:
    said = conform("spyre", "--area", "rng", "--area", "probe", ACCELPLUG_SIMULATE="spyre").stdout
    assert said.startswith("spyre (simulated): nothing wrong in 10 checks; 1 skipped\n")
    assert "simulated: this says nothing about hardware" in said
    assert re.search(r"✓ +probe +4 +· +· +1", said)
    assert "probe: the simulated machine is always there" in said
    assert "\x1b" not in said


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nueron"], "unknown backend 'nueron'; did you mean 'neuron'?; known: cpu, cuda"),
        (["cpu", "--area", "opps"], "unknown area 'opps'; did you mean 'ops'?; known: probe, registration"),
        (["cpu", "--html", "/nowhere/report.html"], "there is no folder /nowhere"),
    ],
)
def test_bad_input_exits_2_with_what_is_right(conform: Conform, arguments: list[str], complaint: str) -> None:
    done = conform(*arguments)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stdout == ""


def test_a_device_that_can_not_be_used_exits_1_with_its_verdict(conform: Conform) -> None:
    done = conform("mps", "--area", "probe", "--area", "rng")
    assert done.returncode == 1
    assert done.stdout.startswith("mps: can't be used: no_hardware: not a Mac with Apple silicon")


def test_completion_knows_backends_and_areas() -> None:
    assert complete_name("neu") == ["neuron"]
    assert "auto" not in complete_name("")
    assert complete_area("re") == ["registration"]


# The page


def made_up() -> ConformanceReport:
    wrong = Check(
        area="ops",
        name="mm",
        outcome=Outcome.failed,
        why="forward: <script>alert(1)</script>",
        remedy="look at it",
        data={"forward": "wrong", "backward": "native"},
    )
    native = Check(area="ops", name="add", outcome=Outcome.passed, data={"forward": "native", "backward": "fallback"})
    return ConformanceReport(
        device="acme",
        title="Acme One",
        simulated=True,
        ran_on=RanOn.simulator,
        verdict="usable",
        reason="one card",
        backend="acme-accelplug 1.0",
        accelplug="1",
        torch="2",
        python="3",
        system="Linux",
        started="2026-11-30T00:00:00+00:00",
        seconds=3,
        areas=(AreaReport(name="ops", title="Operators", version="0" * 12, checks=(native, wrong)),),
    )


def test_the_page_needs_nothing_from_elsewhere_and_runs_nothing() -> None:
    html = page(made_up())
    assert not re.findall(r"(?:src|href)=\"(?!#)|url\(|@import|https?://|<script", html)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "prefers-color-scheme: dark" in html


def test_the_page_shows_the_verdict_each_operator_and_how_to_run_a_failed_check_again() -> None:
    html = page(made_up())
    assert "does not conform" in html
    assert '<span class="pill simulated">simulated</span>' in html
    assert 'class="bg-native" title="add: native"' in html
    assert "accelplug conform acme --area ops --only &#39;mm&#39;" in html


def test_a_report_in_words() -> None:
    assert headline(made_up()) == "acme (simulated): 1 of 2 checks found something wrong"
    assert ops_line(made_up()) == (
        "operators: forward 2 (1 by the device, 1 wrong); backward 2 (1 by the device, 1 partly on the CPU)"
    )


def test_html_writes_the_page(conform: Conform, tmp_path: Path) -> None:
    done = conform("cpu", "--area", "probe", "--html", "report.html")
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("the page is report.html\n")
    assert "<h1>CPU" in (tmp_path / "report.html").read_text()
