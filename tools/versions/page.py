"""docs/versions.md and the table on the terminal, from what docs/reference/versions.json has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

HEAD = """\
# Which vLLM

accelplug supports vLLM {supported}. `make test-versions` wrote this page. It starts each version with a tiny Llama
(random weights, float32) on the CPU and on a simulated Neuron device, with {environment}, and with the
packages of the environment whatever a version of vLLM asks for.
"""
STATES = """
* *runs*: it did what it should; in native mode, with the tokens of the CPU.
* *off*: vLLM lacks something that it needs, which is said when a server starts and by `accelplug doctor`; see below.
* *–*: not asked of this version. Serving, compiling and drafts are asked with `python -m tools.versions --more`. vLLM
  0.33 has no CPU wheel: where it is not above, only its source was looked at, below.
"""
SEAMS = """\
## What each part needs of vLLM

accelplug uses {count} places of vLLM and torch. Here they are by the part of accelplug that needs them, looked up in
the source of each version. `accelplug doctor --verbose` lists the places for what is installed.
"""
STYLES = {"runs": "green", "off": "yellow", "crashes": "bold red", "-": "dim"}


def page(found: Mapping[str, Any]) -> str:
    """The page as Markdown."""
    ran = [version for version in found["versions"] if version in found["features"]]
    lines = [HEAD.format(supported=found["supported"], environment=found["environment"])]
    lines += _table(
        "feature", ran, [(name, [found["features"][v][name]["state"] for v in ran]) for name in _names(found)]
    )
    lines += [STATES.rstrip(), ""]
    lines += _reasons([(v, name, found["features"][v][name]["reason"]) for v in ran for name in _names(found)])
    seams, every = found["seams"], found["versions"]
    lines += [SEAMS.format(count=found["count"])]
    parts = list(seams[every[0]])
    lines += _table("part", every, [(part, ["off" if seams[v][part] else "there" for v in every]) for part in parts])
    lines += ["", *_reasons([(v, part, seams[v][part]) for v in every for part in parts])]
    return "\n".join(lines).rstrip() + "\n"


def table(found: Mapping[str, Any]) -> Table:
    """The features of the versions that ran, for a terminal."""
    ran = [version for version in found["versions"] if version in found["features"]]
    made = Table("feature", *ran, box=box.SIMPLE_HEAD)
    for name in _names(found):
        cells = [found["features"][version][name] for version in ran]
        texts = [f"{c['state']}: {c['reason']}" if c["reason"] else c["state"] for c in cells]
        made.add_row(name, *(Text(text, style=STYLES[c["state"]]) for text, c in zip(texts, cells, strict=True)))
    return made


def _names(found: Mapping[str, Any]) -> list[str]:
    return list(next(iter(found["features"].values()), {}))


def _table(head: str, versions: list[str], rows: list[tuple[str, list[str]]]) -> list[str]:
    lines = [f"| {head} | {' | '.join(versions)} |", "|---" * (len(versions) + 1) + "|"]
    return lines + [f"| {name} | {' | '.join(cell.replace('-', '–') for cell in cells)} |" for name, cells in rows]


def _reasons(told: list[tuple[str, str, str]]) -> list[str]:
    """A line for each thing that is off, in order of the versions."""
    lines = [f"* {version}, {name}: {reason}" for version, name, reason in told if reason]
    return [*lines, ""] if lines else []
