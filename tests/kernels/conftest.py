"""Runs programs on a third party's device with kernels, simulated: each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from backend_site import Site
from processes import PATIENCE, Run, environment

HERE = Path(__file__).parent

PROFILE = """
name = "acme"
devices = 2
not_native = ["aten::mm"]

[sdk]
distribution = "acme-sdk"
version = "1.0"
module = "acme_sdk"
"""


@pytest.fixture
def acme(tmp_path: Path) -> Run:
    """Runs a program of this folder, or a module with ``-m``, where the backend of ``acme_backend.py`` is installed.

    Keywords are further environment variables.
    """
    folder = tmp_path / "acme"
    folder.mkdir()
    (folder / "acme.toml").write_text(PROFILE)
    Site(folder).metadata("accelplug-acme", "acme", "acme_backend")

    installed = {
        "PYTHONPATH": os.pathsep.join([str(folder), str(HERE)]),
        "ACCELPLUG_SIMULATE": str(folder / "acme.toml"),
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor"),
    }

    def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=environment(**{**installed, **environ}),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    return run
