"""Where accelplug keeps what it makes once: in the user's cache, each thing complete or not there."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import platformdirs
from filelock import FileLock

from accelplug.errors import AccelplugError


class CacheError(AccelplugError):
    """The user's cache can't be written."""


def folder(*parts: str) -> Path:
    """A folder in the cache, made if need be. Raises CacheError where it can't be."""
    path = platformdirs.user_cache_path("accelplug").joinpath(*parts)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from None
    return path


def made_once(path: Path, make: Callable[[Path], object]) -> Path:
    """The folder ``path``; where it isn't there, ``make`` makes it under another name, and it is renamed.

    Several processes may ask at once: one makes it, and the others wait for that.
    """
    if not path.is_dir():
        with FileLock(path.with_name(f"{path.name}.lock")):
            if not path.is_dir():
                with tempfile.TemporaryDirectory(dir=path.parent, prefix=f"{path.name}.") as scratch:
                    made = Path(scratch, "made")
                    make(made)
                    made.rename(path)
    return path


def write(path: Path, text: str) -> None:
    """A file that others may read meanwhile: they see the one before, or this one. Raises CacheError."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):  # the error that is raised says it already
            unfinished.unlink()
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> CacheError:
    return CacheError(
        f"accelplug can't write to {path}: {error.strerror}; set XDG_CACHE_HOME to a folder that can be written"
    )
