"""Packages that only a benchmark needs, in folders of their own in the user's cache: the environment stays as it is."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import platformdirs

from benchmarks.suite import BenchmarkError


def overlay(name: str, *requirements: str, complete: Callable[[Path], None] = lambda folder: None) -> Path:
    """A folder for ``PYTHONPATH`` with exactly these packages, without what they require; made if it isn't there yet.

    ``complete`` adds to it while it is made. Raises BenchmarkError where pip fails.
    """
    folder = platformdirs.user_cache_path("accelplug") / "benchmarks" / name
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=name + ".") as scratch:
        made = Path(scratch) / name
        _install(requirements, made)
        complete(made)
        made.rename(folder)  # appears complete or not at all
    return folder


def _install(requirements: tuple[str, ...], to: Path) -> None:
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--target", str(to)]
    command = [sys.executable, "-m", "pip", "install", *options, *requirements]
    finished = subprocess.run(command, capture_output=True, text=True)
    if finished.returncode:
        raise BenchmarkError(f"{' '.join(command)} ended with {finished.returncode}:\n{finished.stderr.strip()}")
