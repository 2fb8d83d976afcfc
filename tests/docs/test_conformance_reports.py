"""The reports in docs/conformance: what lists them, and how `make conformance` makes that of the example."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fenced_blocks import ROOT

from accelplug.conformance import files
from tools import conformance

REPORTS = sorted(conformance.FOLDER.glob("*.json"))


@pytest.mark.parametrize("report", REPORTS, ids=lambda path: path.stem)
def test_each_report_has_a_page_a_badge_and_a_place_in_the_list(report: Path) -> None:
    assert report.with_suffix(".html").is_file()
    assert report.with_suffix(".svg").is_file()
    assert f'href="{report.stem}.html"' in (conformance.FOLDER / "index.html").read_text()


@pytest.mark.parametrize("report", REPORTS, ids=lambda path: path.stem)
def test_the_readme_has_its_badge_which_leads_to_its_page_and_says_whether_it_is_simulated(report: Path) -> None:
    at = f"docs/conformance/{report.stem}"
    badge = re.search(rf"\[!\[([^]]*)\]\({at}\.svg\)\]\({at}\.html\)", (ROOT / "README.md").read_text())
    assert badge, f"no badge of {report.stem}"
    examined = files.read(report)
    assert examined.standing.level
    assert examined.standing.level in badge[1]
    assert ("simulated" in badge[1]) == ("simulated" in report.with_suffix(".svg").read_text()) == examined.simulated


def test_the_list_is_on_the_site() -> None:
    assert "conformance/index.html" in (ROOT / "mkdocs.yml").read_text()


def test_a_backend_that_accelplug_does_not_bring_is_there_for_its_own_run_only(tmp_path: Path) -> None:
    def candidates(environ: dict[str, str]) -> dict[str, str]:
        command = [sys.executable, "-m", "accelplug", "devices", "--json"]
        done = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=True)
        return {found["name"]: found["verdict"] for found in json.loads(done.stdout)["candidates"]}

    assert candidates(conformance.environment("tessera", tmp_path))["tessera"] == "usable"
    assert "tessera" not in candidates(dict(os.environ))
