"""Conformance reports as self-contained HTML pages: nothing is fetched when they are read. Needs jinja2."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from accelplug.conformance import levels
from accelplug.conformance.records import AreaReport, Check, ConformanceReport
from accelplug.conformance.summary import DIRECTIONS, OPS, WAYS, headline, ops, provenance, way
from accelplug.reporting.templates import render

FOLDER = Path(__file__).parent
SIMULATED = "A program stood in for the device and its SDK, on a CPU. Nothing here says anything about hardware."


def page(report: ConformanceReport) -> str:
    """The whole page of one report. What reports say is text in it, never markup."""
    return render(
        FOLDER / "report.html.j2",
        report=report,
        simulated=SIMULATED,
        headline=headline(report),
        levels=_ladder(report),
        provenance=provenance(report),
        facts=_facts(report),
        groups=_groups(report),
        operators=[_operators(report, direction) for direction in DIRECTIONS] if report.has(OPS) else [],
        again=_again,
        measured=_measured,
    )


def index(reports: Mapping[str, ConformanceReport]) -> str:
    """A page that lists reports, by the address of each one's own page."""
    entries = [
        {
            "page": address,
            "report": report,
            "headline": headline(report),
            "provenance": provenance(report),
            "levels": _ladder(report),
        }
        for address, report in reports.items()
    ]
    return render(FOLDER / "index.html.j2", entries=entries)


def _ladder(report: ConformanceReport) -> list[dict[str, str]]:
    """The levels in their order, each ``reached``, ``next`` or ``ahead``."""
    reached = levels.names().index(report.standing.level) if report.standing.level else -1

    def state(number: int, level: levels.Level) -> str:
        if number <= reached:
            return "reached"
        return "next" if level.name == report.standing.next else "ahead"

    return [
        {"name": level.name, "statement": level.statement, "state": state(number, level)}
        for number, level in enumerate(levels.LEVELS)
    ]


def _groups(report: ConformanceReport) -> list[tuple[str, list[AreaReport]]]:
    """The areas that were examined by the level that asks for them, then those that none does."""
    by_level = [(level.name, [area for area in report.areas if area.name in level.areas]) for level in levels.LEVELS]
    asked = {name for level in levels.LEVELS for name in level.areas}
    others = ("no level asks for them", [area for area in report.areas if area.name not in asked])
    return [(title, areas) for title, areas in (*by_level, others) if areas]


def _facts(report: ConformanceReport) -> list[tuple[str, str]]:
    found = [
        ("backend", report.backend),
        ("torch", report.torch),
        ("vLLM", report.vllm or "none"),
        ("accelplug", report.accelplug),
        ("Python", report.python),
        ("system", report.system),
        ("device path run on", "a simulation" if report.simulated else str(report.ran_on)),
        ("probe", f"{report.verdict}: {report.reason}"),
        ("started", report.started.replace("T", " ").replace("+00:00", " UTC")),
        ("took", f"{report.seconds:.0f} s"),
    ]
    named = {name for name, _ in found}
    return found + [(name, text) for name, text in sorted(report.details.items()) if name not in named]


def _operators(report: ConformanceReport, direction: str) -> dict[str, Any]:
    """What the page draws of one direction: a square for each operator, the good ones first, and how many of each."""
    order = [*WAYS]
    squares = [(check.name, way(check, direction), _reason(check)) for check in report[OPS].checks]
    shown = sorted((square for square in squares if square[1] in order), key=lambda each: order.index(each[1]))
    counted = ops(report, direction)
    return {"direction": direction, "squares": shown, "legend": [(w, WAYS[w], counted[w]) for w in order if counted[w]]}


def _reason(check: Check) -> str:
    return check.why or ", ".join(check.data.get("fell_back", ()))


def _again(check: Check, report: ConformanceReport) -> str:
    """The command that runs one check again."""
    return f"accelplug conform {report.device} --area {check.area} --only '{check.name}'"


def _measured(check: Check) -> str:
    """What a check has measured, in a line."""
    return ", ".join(f"{name}: {_text(value)}" for name, value in check.data.items())


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
