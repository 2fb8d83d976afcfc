"""Records as text and as HTML. Takes records, returns strings; knows nothing of terminals."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accelplug.specs.selection import Candidate, Explanation, Selection

COLUMNS = ("", "device", "verdict", "devices", "probe", "reason")


def mark(candidate: Candidate, selection: Selection) -> str:
    """An arrow at the chosen one."""
    return "→" if candidate.name == selection.chosen else " "


def reason(candidate: Candidate, selection: Selection) -> str:
    """The reason a person reads: outranked where usable but not chosen, labelled where simulated or unproven."""
    parts = [candidate.reason]
    if candidate.usable and selection.chosen not in (None, candidate.name):
        parts.insert(0, "available, outranked" if selection.requested == "auto" else "available, not asked for")
    if candidate.simulated:
        parts.append("simulated")
    if candidate.usable and candidate.ran_on != "hardware" and not candidate.simulated:
        where = "on the simulator only" if candidate.ran_on == "simulator" else "nowhere yet"
        parts.append(f"not proven on hardware: accelplug has run it {where}")
    return "; ".join(parts)


def row(candidate: Candidate, selection: Selection) -> tuple[str, ...]:
    """One line of the table, as the columns say."""
    return (
        mark(candidate, selection),
        candidate.name,
        str(candidate.verdict),
        str(candidate.count) if candidate.usable else "-",
        f"{candidate.probe_ms:.1f} ms",
        reason(candidate, selection),
    )


def headline(selection: Selection) -> str:
    """The choice in one line: which device, why, and what was passed over."""
    if selection.chosen is None:
        return f"no usable device for {selection.requested!r} (asked by {selection.decided_by})"
    chosen = selection[selection.chosen]
    passed: dict[str, list[str]] = {}
    for c in selection.candidates:
        if c.name != selection.chosen and (c.priority > chosen.priority or c.usable or c.verdict == "broken"):
            passed.setdefault(str(c.verdict), []).append(c.name)
    line = f"device {chosen.name}{' (simulated)' if chosen.simulated else ''}, decided by {selection.decided_by}"
    line += f": {chosen.reason}"
    over = [f"{', '.join(names)} ({verdict})" for verdict, names in passed.items()]
    return line + (f"; passed over: {', '.join(over)}" if over else "")


def selection_text(selection: Selection) -> str:
    """An aligned table of all candidates under the headline."""
    rows = [COLUMNS, *(row(c, selection) for c in selection.candidates)]
    widths = [max(len(r[i]) for r in rows) for i in range(len(COLUMNS) - 1)]
    lines = ["  ".join([*(cell.ljust(w) for cell, w in zip(r, widths, strict=False)), r[-1]]).rstrip() for r in rows]
    return "\n".join([headline(selection), "", *lines])


def selection_html(selection: Selection) -> str:
    """The same as a table for a notebook."""
    head = "".join(f"<th style='text-align:left'>{c}</th>" for c in COLUMNS)
    body = ""
    for candidate in selection.candidates:
        weight = " style='font-weight:bold'" if candidate.name == selection.chosen else ""
        cells = "".join(f"<td style='text-align:left'>{escape(c)}</td>" for c in row(candidate, selection))
        body += f"<tr{weight}>{cells}</tr>"
    return f"<p>{escape(headline(selection))}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def facts(candidate: Candidate, selection: Selection) -> list[tuple[str, str]]:
    """What there is to say about one candidate, as label and text; a label may repeat."""
    found = [("verdict", str(candidate.verdict)), ("reason", reason(candidate, selection))]
    if candidate.remedy:
        found.append(("what to do", candidate.remedy))
    if candidate.usable:
        found.append(("devices", str(candidate.count)))
    found += sorted(candidate.details.items())
    found += [("looked at", line) for line in candidate.evidence]
    found += [
        ("backend", f"{candidate.distribution}, priority {candidate.priority}"),
        ("device path run on", str(candidate.ran_on)),
        ("probe took", f"{candidate.probe_ms:.1f} ms"),
    ]
    if candidate.error:
        found.append(("traceback", "\n" + candidate.error.rstrip()))
    return found


def explanation_text(explanation: Explanation) -> str:
    """Headline, settings in force, then a block for each candidate."""
    selection = explanation.selection
    lines = [headline(selection)]
    lines += [f"  {key} = {value}" for key, value in explanation.settings.items()]
    for candidate in explanation.candidates:
        lines += ["", f"{mark(candidate, selection)} {candidate.name}: {candidate.title}"]
        lines += [f"    {label + ':':<20}{text}" for label, text in facts(candidate, selection)]
    return "\n".join(lines)


def explanation_html(explanation: Explanation) -> str:
    """The same as definition lists for a notebook."""
    selection = explanation.selection
    html = f"<p>{escape(headline(selection))}</p>"
    for candidate in explanation.candidates:
        items = "".join(
            f"<tr><td>{escape(label)}</td><td style='text-align:left;white-space:pre-wrap'>{escape(text)}</td></tr>"
            for label, text in facts(candidate, selection)
        )
        html += f"<h4>{escape(candidate.name)}: {escape(candidate.title)}</h4><table>{items}</table>"
    return html
