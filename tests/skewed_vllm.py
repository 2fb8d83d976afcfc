"""A vLLM like the installed one, in which some names are others: what a future version may look like."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path


def skewed(site: Path, names: Iterable[str]) -> Path:
    """Makes ``site/vllm``, where each of ``names`` is called otherwise, consistently; returns ``site``, for the path.

    What has none of the names is a link to the installed file.
    """
    spec = find_spec("vllm")
    assert spec is not None
    (installed,) = map(Path, spec.submodule_search_locations or ())
    pattern = re.compile(rb"\b(%s)\b" % b"|".join(re.escape(name.encode()) for name in names))
    _mirror(installed, site / "vllm", pattern)
    return site


def _mirror(there: Path, here: Path, pattern: re.Pattern[bytes]) -> None:
    changed = {path for path in there.rglob("*.py") if pattern.search(path.read_bytes())}
    folders = {parent for path in changed for parent in path.parents if parent.is_relative_to(there)}
    for folder in sorted(folders):
        made = here / folder.relative_to(there)
        made.mkdir(parents=True)
        for path in folder.iterdir():
            if path in changed:
                (made / path.name).write_bytes(pattern.sub(rb"\1_otherwise", path.read_bytes()))
            elif path not in folders and path.name != "__pycache__":
                (made / path.name).symlink_to(path)
