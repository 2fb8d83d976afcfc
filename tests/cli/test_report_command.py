"""``accelplug report``: a saved report as text, JSON and page."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from accelplug.cli.app import app
from accelplug.specs import FallbackReport

REPORT = FallbackReport(
    device="spyre",
    torch_type="spyre",
    simulated=True,
    counted=True,
    torch_version="2.13.0",
    accelplug_version="0.1.0",
    policy="allow",
    process=1,
    seconds=1,
)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "run.json"
    REPORT.save(path)
    return path


def test_a_saved_report_is_shown(saved: Path) -> None:
    done = CliRunner().invoke(app, ["report", str(saved)])
    assert done.exit_code == 0
    assert done.stdout == f"{REPORT}\n"


def test_json_is_the_report_again(saved: Path) -> None:
    done = CliRunner().invoke(app, ["report", str(saved), "--json"])
    assert FallbackReport.model_validate_json(done.stdout) == REPORT


def test_html_is_written_to_the_file(saved: Path, tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    done = CliRunner().invoke(app, ["report", str(saved), "--html", str(tmp_path / "run.html")])
    assert (done.exit_code, done.stdout) == (0, "")
    assert (tmp_path / "run.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_a_file_that_can_not_be_read_ends_with_2_and_its_path(tmp_path: Path, name: str) -> None:
    done = CliRunner().invoke(app, ["report", str(tmp_path / name)])
    assert done.exit_code == 2
    assert f"accelplug: {tmp_path / name} can't be read" in done.stderr


def test_help_has_examples() -> None:
    assert "accelplug report run.json --html run.html" in CliRunner().invoke(app, ["report", "--help"]).stdout
