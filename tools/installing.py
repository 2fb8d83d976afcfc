"""Installs packages with pip into folders for PYTHONPATH: the environment stays as it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from accelplug import cache


class InstallError(Exception):
    """pip could not install something; the text has its command and what it said."""


def install(*packages: Path, into: Path) -> str:
    """The folder that has these packages, which lie here: no network is needed. Raises InstallError.

    pip builds in a copy, so that nothing is left where a package lies.
    """
    copies = [shutil.copytree(package, into / "sources" / package.name) for package in packages]
    _pip_install("--no-index", *map(str, copies), into=into / "site")
    return str(into / "site")


def overlay(name: str, *requirements: str, complete: Callable[[Path], None] = lambda folder: None) -> Path:
    """A folder in the user's cache with exactly these packages, without what they require; made if it isn't there yet.

    ``complete`` adds to it while it is made. Raises InstallError.
    """

    def make(folder: Path) -> None:
        _pip_install(*requirements, into=folder)
        complete(folder)

    return cache.made_once(cache.folder("benchmarks") / name, make)


def search_path(*folders: Path | str) -> dict[str, str]:
    """PYTHONPATH with these folders before what it has, as an environment."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, [*map(str, folders), os.environ.get("PYTHONPATH", "")]))}


def _pip_install(*arguments: str, into: Path) -> None:
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--target", str(into)]
    command = [sys.executable, "-m", "pip", "install", *options, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InstallError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr.strip()}")
