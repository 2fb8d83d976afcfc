"""Runs programs on a simulated device, each in a process of its own: a process has one such device for good."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from accelplug.sim import build

HERE = Path(__file__).parent
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def library() -> Path:
    """The simulator's library, so that no test's time limit covers building it."""
    return build.library()


@pytest.fixture
def simulated(library: Path, tmp_path: Path) -> Run:
    """Runs code, or a program of this folder, with ``ACCELPLUG_SIMULATE`` set and the device live as ``dev``.

    ``ok`` says whether it has to end with code 0.
    """

    def run(
        simulate: str, code: str, *arguments: str, ok: bool = True, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        program = code if code.endswith(".py") else ""
        prelude = "import accelplug, torch\ndev = accelplug.auto()\nD = str(dev)\n"
        command = [str(HERE / program)] if program else ["-c", prelude + code]
        done = subprocess.run(
            [sys.executable, *command, *arguments],
            cwd=tmp_path,
            env={**os.environ, "ACCELPLUG_SIMULATE": simulate, **environ},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0 or not ok, done.stderr
        return done

    return run


@pytest.fixture
def profile(tmp_path: Path) -> Callable[[str], str]:
    """Writes a profile of one's own and returns its path."""

    def write(text: str) -> str:
        path = tmp_path / "profile.toml"
        path.write_text(text)
        return str(path)

    return write
