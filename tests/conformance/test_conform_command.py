"""``accelplug conform``: exit codes, the table, JSON as its schema says, and the files it writes."""

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
from made_up_reports import area, check, report
from typer.testing import CliRunner

from accelplug.cli.app import app
from accelplug.cli.conform import complete_area, complete_level
from accelplug.cli.options import complete_backend
from accelplug.conformance import files

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
        (["cpu", "--level", "serve"], "unknown level 'serve'; did you mean 'serves'?; known: detects, computes"),
        (["cpu", "--level", "serves", "--area", "ops"], "--area and --level both say what is examined"),
        (["cpu", "--badge", "badge.png"], "a badge is a file ending in .svg or .json"),
        (["cpu", "--keep", "k.json", "--only", "mm"], "--keep keeps whole areas"),
        (["cpu", "--from", "r.json", "--quick"], "--from runs nothing, so NAME, --quick can't be given with it"),
        (["--from", "r.json"], "r.json can't be read: No such file or directory"),
        ([], "which backend? give its name, or --from with a report, or --compare with two"),
    ],
)
def test_bad_input_exits_2_with_what_is_right(
    arguments: list[str], complaint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["conform", *arguments])
    assert done.exit_code == 2
    assert complaint in done.stderr
    assert done.stdout == ""


def test_a_device_that_can_not_be_used_exits_1_with_its_verdict(conform: Conform) -> None:
    done = conform("mps", "--area", "probe", "--area", "rng")
    assert done.returncode == 1
    assert done.stdout.startswith("mps: can't be used: no_hardware: not a Mac with Apple silicon")


def test_completion_knows_backends_and_areas() -> None:
    assert complete_backend("neu") == ["neuron"]
    assert "auto" not in complete_backend("")
    assert complete_area("re") == ["registration"]
    assert complete_level("co") == ["computes", "compiles"]


def test_html_writes_the_page(conform: Conform, tmp_path: Path) -> None:
    done = conform("cpu", "--area", "probe", "--html", "report.html")
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("the page is report.html\n")
    assert "<h1>CPU" in (tmp_path / "report.html").read_text()


def test_a_level_runs_only_what_it_needs_and_is_kept_with_a_badge(conform: Conform, tmp_path: Path) -> None:
    done = conform("cpu", "--level", "detects", "--keep", "cpu.json", "--badge", "cpu.svg")
    assert done.returncode == 0, done.stderr
    assert "level: detects (it is found and judged, with a reason); between it and computes:\n" in done.stdout
    assert done.stdout.endswith("the badge is cpu.svg\n")
    assert "detects · hardware" in (tmp_path / "cpu.svg").read_text()
    assert [each.name for each in files.read(tmp_path / "cpu.json").areas] == ["probe"]
    shown = conform("--from", "cpu.json", "--json")
    assert json.loads(shown.stdout) == json.loads((tmp_path / "cpu.json").read_text())


def test_comparing_exits_1_where_something_got_worse(conform: Conform, tmp_path: Path) -> None:
    good, bad = report(area("rng")), report(area("rng", check("rng", "it works", "failed", "it doesn't")))
    files.write(tmp_path / "good.json", good)
    files.write(tmp_path / "bad.json", bad)
    worse = conform("--compare", "good.json", "bad.json")
    assert worse.returncode == 1
    assert worse.stdout.startswith("acme: 1 worse, 0 better, 0 unchanged\n")
    assert re.search(r"rng +it works +passed +failed +it doesn't", worse.stdout)
    better = conform("--compare", "bad.json", "good.json", "--json")
    assert better.returncode == 0
    found = json.loads(better.stdout)
    jsonschema.validate(found, {"$ref": "#/$defs/output-conform", "$defs": SCHEMA["$defs"]})
    assert (found["ok"], [change["name"] for change in found["better"]]) == (True, ["it works"])
