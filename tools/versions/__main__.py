"""`make test-versions`: runs the adapter's smoke with each supported vLLM, and writes docs/versions.md.

Minutes, and a gigabyte of wheels in the user's cache. Exit status 1 where something crashes with a version; what vLLM
lacks is no crash. ``--only`` runs some versions and keeps what the record has of the others.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
from importlib.metadata import version as installed
from pathlib import Path
from typing import Annotated, Any

import typer
from accelplug_vllm.compat import PARTS
from accelplug_vllm.upstream.sdist import FetchError
from accelplug_vllm.versions import SUPPORTED
from filelock import FileLock
from rich.console import Console

from tools.installing import InstallError
from tools.versions.features import CRASHES, FEATURES, came_of, cell
from tools.versions.fetching import EVERY, Version, every
from tools.versions.page import page, table

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "build" / "versions.lock"
PAGE = ROOT / "docs" / "versions.md"
RECORD = ROOT / "docs" / "reference" / "versions.json"


def main(
    only: Annotated[list[str] | None, typer.Option(help="Run this version; may be given again.")] = None,
    more: Annotated[
        bool, typer.Option("--more", help="Compile, draft and serve, too: three more starts each.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the record in the place of the table.")] = False,
) -> None:
    """Run the adapter's smoke with each supported vLLM."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started ends too
    for name in [name for name in os.environ if name.startswith("ACCELPLUG_")]:
        del os.environ[name]  # each run has its own
    out, progress = Console(), Console(stderr=True)
    if unknown := {*(only or EVERY)} - {*EVERY}:
        raise typer.BadParameter(f"{', '.join(sorted(unknown))}: not among {', '.join(EVERY)}", param_hint="--only")
    try:
        versions = every()
    except (InstallError, FetchError) as error:
        progress.print(str(error), style="bold red")
        raise typer.Exit(1) from None
    for version in versions:
        if version.name in (only or EVERY):
            found = keep(versions, {version.name: _run(version, more, progress)})
    out.print_json(data=found) if as_json else out.print(table(found))
    crashed = [(v, name) for v, cells in found["features"].items() for name in cells if cells[name]["state"] == CRASHES]
    raise typer.Exit(1 if crashed else 0)


def keep(versions: list[Version], ran: dict[str, Any]) -> dict[str, Any]:
    """Adds what came of a version to the record, and writes the page anew. Returns the record."""
    LOCK.parent.mkdir(exist_ok=True)
    with FileLock(LOCK):  # two of these may run at once
        before = json.loads(RECORD.read_text())["features"] if RECORD.exists() else {}
        found = record(versions, before | ran)
        RECORD.write_text(json.dumps(found, indent=1) + "\n")
        PAGE.write_text(page(found))
    return found


def record(versions: list[Version], features: dict[str, Any]) -> dict[str, Any]:
    """What `page` makes a page of."""
    return {
        "supported": SUPPORTED,
        "environment": f"torch {installed('torch')}, Python {platform.python_version()}",
        "versions": [v.name for v in versions],
        "count": len({seam for part in PARTS for seam in part.seams}),
        "features": {v.name: features[v.name] for v in versions if v.name in features},
        "seams": {v.name: {part.name: part.missing(v.source) for part in PARTS} for v in versions},
    }


def _run(version: Version, more: bool, progress: Console) -> dict[str, dict[str, str]]:
    came, cells = came_of(version), {}
    for feature in FEATURES:
        cells[feature.name] = cell(feature, came, more)
        progress.print(f"vLLM {version.name}: {feature.name}: {cells[feature.name]['state']}")
    return cells


if __name__ == "__main__":
    typer.run(main)
