"""A folder of vLLM's source distribution, such as its tests: fetched once, kept in the user's cache."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

from accelplug import cache
from accelplug.errors import AccelplugError

# pip asks a source distribution for its metadata, even where it only downloads it. What vLLM's setup.py imports for
# that goes into a folder that is thrown away; torch, which it imports too, is the environment's.
TOOLS = ("setuptools>=77", "setuptools-scm>=8", "setuptools-rust>=1.9", "cmake>=3.26", "jinja2>=3.1", "packaging>=24")


class FetchError(AccelplugError):
    """The source distribution could not be had."""


def fetch(version: str, part: str = "tests") -> Path:
    """The folder that has ``part`` in it, and nothing else of vLLM; safe to call from several processes at once.

    ``part`` is ``tests``, or the package itself, ``vllm``. Raises FetchError with what pip said where there is nothing
    in the cache and it can't be downloaded.
    """
    return cache.made_once(folder_of(version, part), functools.partial(_make, version, part))


def folder_of(version: str, part: str = "tests") -> Path:
    """Where `fetch` keeps it."""
    name = f"vllm-{version}" if part == "tests" else f"vllm-{version}-{part}"
    return cache.folder("upstream") / name


def _make(version: str, part: str, folder: Path) -> None:
    print(f"Fetching the source distribution of vLLM {version} for its {part} (once) ...", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        tools, download = Path(scratch, "tools"), Path(scratch, "download")
        _pip(["install", "--target", str(tools), *TOOLS], {})
        source_only = ["--no-deps", "--no-binary", "vllm", "--no-build-isolation"]
        _pip(
            ["download", *source_only, "--dest", str(download), f"vllm=={version}"],
            {"PYTHONPATH": str(tools), "VLLM_TARGET_DEVICE": "empty", "VLLM_VERSION_OVERRIDE": version},
        )
        (archive,) = download.glob("vllm-*.tar.gz")
        unpack(archive, folder, part)


def unpack(archive: Path, to: Path, part: str = "tests") -> None:
    """One folder of a source distribution.

    The tests come without the package itself, which would be imported in the place of the installed one.
    """
    with tarfile.open(archive) as opened:
        for member in opened:
            inside = member.name.partition("/")[2]
            if inside.split("/")[0] == part:
                opened.extract(member.replace(name=inside, deep=False), to, filter="data")


def _pip(arguments: list[str], environment: Mapping[str, str]) -> None:
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
    command = [sys.executable, "-m", "pip", arguments[0], *quiet, *arguments[1:]]
    done = subprocess.run(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode != 0:
        said = "\n".join(f"  {line[:300]}" for line in done.stdout.splitlines()[-12:])
        raise FetchError(
            f"vLLM's source can't be fetched: `pip {arguments[0]}` ended with {done.returncode}. Check that a package "
            f"index can be reached from here and that it has this version's source distribution. pip said:\n{said}"
        )
