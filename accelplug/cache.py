"""Where accelplug keeps what it makes once: in the user's cache, each thing complete or not there."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import platformdirs
from filelock import FileLock

from accelplug.errors import AccelplugError, BadInputError
from accelplug.files import write_whole


class CacheError(AccelplugError):
    """The user's cache can't be written."""


def folder(*parts: str) -> Path:
    """A folder in the cache, made if need be. Raises CacheError where it can't be."""
    path = platformdirs.user_cache_path("accelplug").joinpath(*parts)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(f"{path} can't be made: {error.strerror}") from None
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
    try:
        write_whole(path, text)
    except BadInputError as error:
        raise _unwritable(str(error)) from None


def _unwritable(why: str) -> CacheError:
    return CacheError(f"{why}; set XDG_CACHE_HOME to a folder that can be written")
