"""The conformance reports of the documentation: ``python -m tools.conformance [NAME …]`` makes them, or finishes them.

Each device's report grows area by area in docs/conformance/NAME.json, so what an earlier run has is not run again as
long as neither software nor checks have changed. Beside it are the page, the badge, and a list of all reports.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from accelplug.conformance import files
from accelplug.conformance.page import index
from accelplug.hookspecs import ENTRY_POINTS

FOLDER = Path(__file__).parents[1] / "docs" / "conformance"
# What each device is simulated with. A report from hardware is made where that is, and put there:
# accelplug conform NAME --keep docs/conformance/NAME.json
SIMULATED = {"neuron": "neuron", "spyre": "spyre", "tessera": "tessera", "cpu": ""}


def main(*names: str) -> int:
    """Ends with 1 where something is wrong with a device. Without names, all whose backends are installed."""
    FOLDER.mkdir(exist_ok=True)
    codes = [examine(name) for name in names or filter(is_installed, SIMULATED)]
    reports = {f"{path.stem}.html": files.read(path) for path in sorted(FOLDER.glob("*.json"))}
    (FOLDER / "index.html").write_text(index(reports), encoding="utf-8")
    return max(codes)


def is_installed(name: str) -> bool:
    """Whether there is a backend of that name; says so where there is none."""
    found = bool(metadata.entry_points(group=ENTRY_POINTS, name=name))
    if not found:
        print(f"== {name}: left out, as its backend is not installed: pip install ./examples/{name}", flush=True)
    return found


def examine(name: str) -> int:
    """One device, with what the command line makes of its report."""
    made = {option: FOLDER / f"{name}{suffix}" for option, suffix in SUFFIXES.items()}
    options = [part for option, path in made.items() for part in (option, str(path))]
    command = [sys.executable, "-m", "accelplug", "conform", name, *options]
    print(f"== {name}", flush=True)
    return subprocess.run(command, env={**os.environ, "ACCELPLUG_SIMULATE": SIMULATED[name]}, check=False).returncode


SUFFIXES = {"--keep": ".json", "--html": ".html", "--badge": ".svg"}

if __name__ == "__main__":
    if unknown := [name for name in sys.argv[1:] if name not in SIMULATED]:
        sys.exit(f"error: unknown device {unknown[0]!r}; known: {', '.join(SIMULATED)}")
    sys.exit(main(*sys.argv[1:]))
