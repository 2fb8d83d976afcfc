"""A conformance report as one self-contained HTML page: nothing is fetched when it is read. Needs jinja2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from accelplug.conformance.records import Check, ConformanceReport, Outcome
from accelplug.conformance.summary import DIRECTIONS, OPS, WAYS, headline, ops, provenance, way

TEMPLATE = "report.html.j2"


def page(report: ConformanceReport) -> str:
    """The whole page. What reports say is text in it, never markup."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(TEMPLATE).render(
        report=report,
        headline=headline(report),
        provenance=provenance(report),
        facts=_facts(report),
        outcomes=[str(outcome) for outcome in Outcome],
        operators=[_operators(report, direction) for direction in DIRECTIONS] if report.has(OPS) else [],
        again=_again,
        measured=_measured,
    )


def _facts(report: ConformanceReport) -> list[tuple[str, str]]:
    found = [
        ("backend", report.backend),
        ("torch", report.torch),
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
