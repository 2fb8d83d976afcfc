"""What each part of the adapter misses, kept in the user's cache as long as all that was read for it is the same.

Looking up all seams means parsing some ninety files of vLLM and torch, which takes more than a second; to read and
compare them takes a hundredth of that.
"""

from __future__ import annotations

import hashlib
import inspect
import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from accelplug import cache
from accelplug.cache import CacheError
from accelplug.specs import Record
from accelplug_vllm.compat import seam, source
from accelplug_vllm.compat.seam import Part
from accelplug_vllm.compat.source import Source

log = logging.getLogger("vllm.accelplug")


class Verdicts(Record):
    """``missing`` is by part, as `Part.missing` says it.

    It holds for the same ``question`` (see `_question`) while each file in ``read`` is as it was (see `Source.read`).
    """

    question: str
    read: dict[str, str | None]
    missing: dict[str, str]

    def hold(self, question: str) -> bool:
        """Whether they still do."""
        return self.question == question and all(source.digest(Path(path)) == was for path, was in self.read.items())


def missing(parts: Sequence[Part], of: Source) -> Mapping[str, str]:
    """What each of ``parts`` misses in a source, by name: as it was kept, else looked up now and kept.

    Where the cache can't be used, that is said, and it is looked up.
    """
    question, found = _question(parts), None
    try:
        path = _path(of)
        kept = _kept(path)
        if kept is not None and kept.hold(question):
            return kept.missing
        found = _look(parts, of, question)
        cache.write(path, found.model_dump_json(indent=1))
    except CacheError as error:
        log.warning("accelplug: what vLLM has is looked up anew at each start, as it can't be kept: %s", error)
        found = found or _look(parts, of, question)
    return found.missing


def _look(parts: Sequence[Part], of: Source, question: str) -> Verdicts:
    missed = {part.name: part.missing(of) for part in parts}
    return Verdicts(question=question, read={str(path): was for path, was in of.read.items()}, missing=missed)


def _path(of: Source) -> Path:
    """One file for each environment, so that the cache doesn't grow with versions."""
    folders = "\n".join(map(str, of.folders))
    return cache.folder("compat") / f"{hashlib.sha256(folders.encode()).hexdigest()[:16]}.json"


def _question(parts: Sequence[Part]) -> str:
    """Changes with what is asked, with the code that answers, and with Python, which parses."""
    code = [inspect.getsource(module) for module in (seam, source)]
    return hashlib.sha256(repr((sys.version, code, parts)).encode()).hexdigest()


def _kept(path: Path) -> Verdicts | None:
    """What is in the cache; None where nothing is, or nothing that can be read, which is said."""
    try:
        return Verdicts.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        reason = str(error).splitlines()[0]
        log.warning("accelplug: %s can't be read and is made anew: %s", path, reason)
        return None
