"""Files that options name: checked before the work, written after it."""

from __future__ import annotations

from pathlib import Path

from accelplug.files import require_folder


def require_folders(**files: Path | None) -> None:
    """Raises BadInputError where a file that an option names (``html=`` is ``--html``) has no folder to be in."""
    for option, file in files.items():
        if file is not None:
            require_folder(file, f"--{option} {file}")
