"""docs/support.md, from what a run of the catalogue found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.support.verdicts import CLOSE, DIFFERS, FAILED, RAN, REFUSED, SAME

HEAD = """\
# What runs on which device

`make support` wrote this page: it ran each feature with vLLM on the CPU and on simulated devices, and compared what
came out. The models are tiny, with random weights, in float32, op by op, on one device.

**No device but the CPU is hardware here.** neuron and spyre are [simulated](simulator.md), with what their backends say
that they can't do. *unlimited* is a simulated device whose backend says nothing of the kind; it shows what accelplug
does by itself.
"""

LEGEND = """\
* *same*: the same tokens, texts and counts as on the CPU.
* *within …*: the same, and numbers that are this close.
* *refused*: the server doesn't start, and says why and what to do: see below. Nothing that is refused runs wrongly.
* *runs*: on the CPU, what the others are compared with; elsewhere, the CPU platform has nothing to compare with.
"""


def page(found: Mapping[str, Any]) -> str:
    """The page as Markdown. ``found`` is what docs/reference/support.json has."""
    devices = found["devices"]
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    heads = [device if device == "cpu" else f"{device} (simulated)" for device in devices]
    lines = [HEAD, f"Run with {versions}.", ""]
    lines += [f"| feature | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    lines += [f"| {row['feature']} | {' | '.join(_cell(row[device]) for device in devices)} |" for row in found["rows"]]
    lines += ["", LEGEND]
    for device in devices:
        lines += _reasons(device, found["rows"])
    return "\n".join(lines).rstrip() + "\n"


def _cell(cell: Mapping[str, str]) -> str:
    words = {RAN: "runs", SAME: "same", REFUSED: "refused", DIFFERS: "**differs**", FAILED: "**fails**"}
    return cell["reason"] if cell["outcome"] == CLOSE else words[cell["outcome"]]


def _reasons(device: str, rows: list[dict[str, Any]]) -> list[str]:
    """A section with why what doesn't work doesn't; none where everything does."""
    told = [(row["feature"], row[device]) for row in rows if row[device]["outcome"] in (REFUSED, DIFFERS, FAILED)]
    if not told:
        return []
    lines = [(feature, line) for feature, cell in told for line in cell["reason"].splitlines()]
    return [f"## {device}", "", *(f"* {feature}: {_code(line)}" for feature, line in lines), ""]


def _code(reason: str) -> str:
    """With the option that it begins with set as code."""
    flag, colon, rest = reason.partition(":")
    return f"`{flag}`{colon}{rest}" if flag.startswith("--") else f"{flag}{colon}{rest}"
