"""A report in words. Takes records, returns text; knows nothing of terminals or pages."""

from __future__ import annotations

from collections import Counter

from accelplug.conformance.records import Check, ConformanceReport, Outcome

OPS = "ops"
DIRECTIONS = ("forward", "backward")
WAYS = {
    "native": "by the device",
    "fallback": "partly on the CPU",
    "right": "right, and nobody counts who ran them",
    "refused": "refused for a dtype that the device doesn't hold",
    "wrong": "wrong",
    "error": "ended in an error",
}


def headline(report: ConformanceReport) -> str:
    """``neuron (simulated): nothing wrong in 771 checks; 14 skipped``."""
    counts = report.counts
    wrong = counts[Outcome.failed] + counts[Outcome.error]
    ran = wrong + counts[Outcome.passed]
    if report.verdict != "usable":
        said = f"can't be used: {report.verdict}: {report.reason}"
    elif not ran:
        said = "nothing was checked"
    elif wrong:
        said = f"{wrong} of {ran} checks found something wrong"
    else:
        said = f"nothing wrong in {ran} check{'' if ran == 1 else 's'}"
    skipped = f"; {counts[Outcome.skipped]} skipped" if counts[Outcome.skipped] else ""
    quick = ", a quick sample" if report.quick else ""
    return f"{report.device}{' (simulated)' if report.simulated else ''}{quick}: {said}{skipped}"


def provenance(report: ConformanceReport) -> str:
    """What ran: versions, and on what the backend's device path has ever been run.

    The backend is said by its distribution, so accelplug is said once where it brings the backend itself.
    """
    where = "simulated: this says nothing about hardware" if report.simulated else _ran_on(report)
    vllm = (f"vLLM {report.vllm}",) if report.vllm else ()
    ran = dict.fromkeys((report.backend, f"torch {report.torch}", *vllm, f"accelplug {report.accelplug}"))
    return f"{', '.join(ran)}; {where}"


def level_line(report: ConformanceReport) -> str:
    """``level: computes (PyTorch's operators give the right values on it); between it and compiles:``, before a list of
    what that is."""
    standing = report.standing
    reached = f"level: {standing.level} ({standing.statement})" if standing.level else "level: none"
    if standing.next:
        return f"{reached}; between it and {standing.next}:"
    return f"{reached}:" if standing.missing else f"{reached}, the last there is"


def _ran_on(report: ConformanceReport) -> str:
    return f"its authors have run it on {report.ran_on}" if report.ran_on != "nothing" else "run here, nowhere before"


def way(check: Check, direction: str) -> str:
    """How one operator went, ``forward`` or ``backward``: a key of `WAYS`, or "none" where there is nothing to say.

    A process that crashed leaves no data: that is an error of the forward direction, where it is looked for first.
    """
    if not check.data and check.outcome.wrong:
        return "error" if direction == "forward" else "none"
    return str(check.data.get(direction, "none"))


def ops(report: ConformanceReport, direction: str) -> Counter[str]:
    """How many operators went each way."""
    counted = Counter(way(check, direction) for check in report[OPS].checks)
    del counted["none"]
    return counted


def ops_line(report: ConformanceReport) -> str:
    """``operators: forward 642 (500 by the device, 142 partly on the CPU); backward 528 (…)``."""
    parts = []
    for direction in DIRECTIONS:
        counted = ops(report, direction)
        each = ", ".join(f"{counted[way]} {said}" for way, said in WAYS.items() if counted[way])
        parts.append(f"{direction} {sum(counted.values())} ({each or 'none'})")
    return f"operators: {'; '.join(parts)}"
