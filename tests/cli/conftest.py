"""The real command, in a process of its own that no terminal shows; packages that bring it something."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
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
def install(tmp_path: Path) -> Callable[..., str]:
    """Writes a package with one entry point; returns the folder for PYTHONPATH."""

    def write(distribution: str, group: str, name: str, value: str, source: str | None) -> str:
        info = tmp_path / "site" / f"{distribution.replace('-', '_')}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")
        if source is not None:
            (tmp_path / "site" / f"{value.partition(':')[0]}.py").write_text(source)
        return str(tmp_path / "site")

    return write
