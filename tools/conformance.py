"""The conformance reports of the documentation: ``python -m tools.conformance [NAME …]`` makes them, or finishes them.

Each device's report grows area by area in docs/conformance/NAME.json, so what an earlier run has is not run again as
long as neither software nor checks have changed. Beside it are the page, the badge, and a list of all reports.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from accelplug.conformance import files
from accelplug.conformance.page import index
from tools.installing import InstallError, install, search_path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "conformance"
# What each device is simulated with. A report from hardware is made where that is, and put there:
# accelplug conform NAME --keep docs/conformance/NAME.json
SIMULATED = {"neuron": "neuron", "spyre": "spyre", "tessera": "tessera", "cpu": ""}
# Backends that accelplug doesn't bring: each is installed for its own run only, and the environment stays as it is.
PACKAGES = {"tessera": ROOT / "examples" / "tessera"}
SUFFIXES = {"--keep": ".json", "--html": ".html", "--badge": ".svg"}


def main(*names: str) -> int:
    """Ends with 1 where something is wrong with a device. Without names, all devices."""
    FOLDER.mkdir(exist_ok=True)
    codes = [examine(name) for name in names or SIMULATED]
    reports = {f"{path.stem}.html": files.read(path) for path in sorted(FOLDER.glob("*.json"))}
    (FOLDER / "index.html").write_text(index(reports), encoding="utf-8")
    return max(codes)


def examine(name: str) -> int:
    """One device, with what the command line makes of its report; the command's exit status."""
    made = {option: FOLDER / f"{name}{suffix}" for option, suffix in SUFFIXES.items()}
    options = [part for option, path in made.items() for part in (option, str(path))]
    command = [sys.executable, "-m", "accelplug", "conform", name, *options]
    print(f"== {name}", flush=True)
    with tempfile.TemporaryDirectory(prefix="accelplug-conformance-") as scratch:
        return subprocess.run(command, env=environment(name, Path(scratch)), check=False).returncode


def environment(name: str, scratch: Path) -> dict[str, str]:
    """The variables with which the device is there, and its backend, installed into ``scratch`` where it has to be."""
    environ = {**os.environ, "ACCELPLUG_SIMULATE": SIMULATED[name]}
    if name in PACKAGES:
        environ |= search_path(install(PACKAGES[name], into=scratch))
    return environ


if __name__ == "__main__":
    if unknown := [name for name in sys.argv[1:] if name not in SIMULATED]:
        sys.exit(f"error: unknown device {unknown[0]!r}; known: {', '.join(SIMULATED)}")
    try:
        sys.exit(main(*sys.argv[1:]))
    except InstallError as error:
        sys.exit(f"error: {error}")
