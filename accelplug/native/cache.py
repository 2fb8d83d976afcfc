"""Where accelplug keeps what it makes once: in the user's cache, each thing complete or not there."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import platformdirs

from accelplug.errors import AccelplugError


class CacheError(AccelplugError):
    """The user's cache can't be written."""


def folder(*parts: str) -> Path:
    """A folder in the cache, made if need be. Raises CacheError where it can't be."""
    path = platformdirs.user_cache_path("accelplug").joinpath(*parts)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CacheError(
            f"accelplug can't write to {path}: {error.strerror}; set XDG_CACHE_HOME to a folder that can be written"
        ) from None
    return path


def made_once(path: Path, fill: Callable[[Path], None]) -> Path:
    """The folder ``path``; where it isn't there, ``fill`` makes its contents in another one, which is then renamed.

    Several processes may do so at once: one wins, and all have the same contents.
    """
    if not path.exists():
        unfinished = Path(tempfile.mkdtemp(dir=path.parent))
        try:
            fill(unfinished)
            unfinished.chmod(0o755)
            unfinished.rename(path)
        except OSError:
            if not path.is_dir():  # otherwise another process was faster
                raise
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return path
