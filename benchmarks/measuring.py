"""Runs one of programs/ in a process of its own, and reads what it measured."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import process
from benchmarks.records import Run

PROGRAMS = Path(__file__).parent / "programs"


def measured(program: str, *arguments: object, environ: Mapping[str, str], timeout: float) -> dict[str, Any]:
    """What ``program`` writes into the file that is its last argument: numbers by metric, and perhaps ``outputs``.

    ``environ`` is added to this process's. Raises BenchmarkError as `process.run` does.
    """
    with tempfile.TemporaryDirectory() as scratch:
        result = Path(scratch) / "result.json"
        command = [sys.executable, str(PROGRAMS / program), *map(str, arguments), str(result)]
        process.run(command, Path(scratch) / "log", environ, timeout)
        found: dict[str, Any] = json.loads(result.read_text())
    return found


def run(variant: str, number: int, found: dict[str, Any]) -> Run:
    """What `measured` gives as the run of a variant in a round."""
    values = {name: value for name, value in found.items() if name != "outputs"}
    return Run(variant=variant, round=number, outputs=tuple(found.get("outputs", ())), values=values)
