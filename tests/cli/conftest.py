"""The real command, in a process of its own that no terminal shows; packages that bring it something."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_packages import Packages
from processes import PATIENCE, Run, environment


@pytest.fixture
def accelplug(tmp_path: Path) -> Run:
    """``accelplug("devices", "--json", NO_COLOR="1")``: arguments, and further environment variables."""

    def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        whole = environment(**environ)
        terminals = {"COLUMNS", "FORCE_COLOR", "NO_COLOR", "TERM"} - environ.keys()
        return subprocess.run(
            [sys.executable, "-m", "accelplug", *arguments],
            cwd=tmp_path,
            env={name: value for name, value in whole.items() if name not in terminals},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    return run


@pytest.fixture
def install(packages: Packages) -> Callable[..., str]:
    """Writes a package with one entry point, and its module if there is a source; returns the folder for PYTHONPATH."""

    def write(distribution: str, group: str, name: str, value: str, source: str | None) -> str:
        files = {} if source is None else {f"{value.partition(':')[0]}.py": source}
        packages.install(distribution, entry_points={f"{group}:{name}": value}, files=files)
        return str(packages.folder)

    return write
