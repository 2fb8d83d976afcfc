"""A report as a page and in words."""

from __future__ import annotations

import re

from made_up_reports import area, check, report

from accelplug.conformance import ConformanceReport
from accelplug.conformance.page import page
from accelplug.conformance.summary import headline, level_line, ops_line, provenance


def made_up() -> ConformanceReport:
    wrong = check("ops", "mm", "failed", "forward: <script>alert(1)</script>", forward="wrong", backward="native")
    return report(area("probe"), area("ops", check("ops", "add", forward="native", backward="fallback"), wrong))


def test_the_page_needs_nothing_from_elsewhere_and_runs_nothing() -> None:
    html = page(made_up())
    assert not re.findall(r"(?:src|href)=\"(?!#)|url\(|@import|https?://|<script", html)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "prefers-color-scheme: dark" in html


def test_the_page_shows_the_verdict_each_operator_and_how_to_run_a_failed_check_again() -> None:
    html = page(made_up())
    assert "does not conform" in html
    assert '<span class="pill simulated">simulated</span>' in html
    assert "<strong>Simulated</strong>" in html
    assert '<li class="reached"><b>detects</b>' in html
    assert "<li>ops: 1 of 2 checks found something wrong</li>" in html
    assert 'class="bg-native" title="add: native"' in html
    assert "accelplug conform acme --area ops --only &#39;mm&#39;" in html


def test_a_report_in_words() -> None:
    assert headline(made_up()) == "acme (simulated): 1 of 3 checks found something wrong"
    assert level_line(made_up()) == ("level: detects (it is found and judged, with a reason); between it and computes:")
    assert ops_line(made_up()) == (
        "operators: forward 2 (1 by the device, 1 wrong); backward 2 (1 by the device, 1 partly on the CPU)"
    )


def test_what_ran_is_said_once_where_accelplug_brings_the_backend() -> None:
    ends = "simulated: this says nothing about hardware"
    assert provenance(report()) == f"acme-accelplug 1.0, torch 2, accelplug 1; {ends}"
    assert provenance(report(vllm="3", backend="accelplug 1")) == f"accelplug 1, torch 2, vLLM 3; {ends}"
