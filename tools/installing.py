"""Installs packages with pip into a folder for PYTHONPATH, without a network."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path


def install(*packages: Path, into: Path) -> str:
    """The folder that has them. pip builds in a copy, so that nothing is left where a package lies."""
    copies = [shutil.copytree(package, into / "sources" / package.name) for package in packages]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    offline = ["--no-deps", "--no-index", "--no-build-isolation", "--target", str(into / "site")]
    subprocess.run([*pip, *offline, *map(str, copies)], check=True)
    return str(into / "site")
