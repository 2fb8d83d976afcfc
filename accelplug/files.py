"""Files that people name: written whole or not at all, and read with an error that says what is wrong in them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from pydantic import ValidationError

from accelplug.errors import BadInputError


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Writes a file, whole or not at all. Raises BadInputError where it can't be written."""
    path = Path(path)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(content.encode() if isinstance(content, str) else content)
        unfinished.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise BadInputError(f"{path} can't be written: {error.strerror or error}") from None


def read_text(path: str | Path) -> str:
    """The text of a file. Raises BadInputError where it can't be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path} can't be read: {getattr(error, 'strerror', None) or error}") from None


def require_folder(path: Path, given: str) -> None:
    """Raises BadInputError where there is no folder to write ``path`` in: before minutes of work, and not after.

    ``given`` is how the message calls it: ``"--html out/page.html"``.
    """
    folder = path.absolute().parent
    if not folder.is_dir():
        raise BadInputError(f"{given}: there is no folder {folder}; make it first")


def complaint(error: ValidationError) -> str:
    """What is wrong with the first field of a record, and how many others: ``areas.0.name: Field required``."""
    first, *more = error.errors()
    place = ".".join(map(str, first["loc"]))
    return f"{f'{place}: ' if place else ''}{first['msg']}" + (f" (and {len(more)} more)" if more else "")
