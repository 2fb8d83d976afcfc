"""Budgets for fallbacks as people write them: ``calls=100,bytes=1MiB,aten::fill_*:calls=0``."""

from __future__ import annotations

import re

from accelplug.errors import BadInputError, did_you_mean
from accelplug.specs import Budget

UNITS = ("calls", "bytes")
SIZES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}
EXAMPLE = "calls=100,bytes=1MiB,aten::fill_*:calls=0"


def parse(text: str) -> tuple[Budget, ...]:
    """The budgets in ``text``, separated by commas. Raises BadInputError with the part that is wrong."""
    return tuple(_budget(part.strip()) for part in text.split(",") if part.strip())


def parse_size(text: str | int) -> int:
    """Bytes: ``1048576``, ``"1MiB"``, ``"1.5 GB"``. Raises BadInputError for anything else."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(text))
    if found is None or found[2].upper() not in SIZES:
        raise BadInputError(f"{text!r} is not a number of bytes; allowed: 4096, 64KiB, 1MiB, 2GiB, 1MB")
    return int(float(found[1]) * SIZES[found[2].upper()])


def _budget(part: str) -> Budget:
    left, equals, limit = part.partition("=")
    ops, _, unit = left.strip().rpartition(":")
    ops = ops or "*"
    if not equals or unit not in UNITS:
        raise BadInputError(
            f"{part!r} is no budget{did_you_mean(unit, UNITS)}; one is calls=N or bytes=N, for some "
            f"operators only as PATTERN:calls=N; several: {EXAMPLE}"
        )
    if "::" not in ops and "*" not in ops:
        raise BadInputError(f"{part!r}: {ops!r} is no operator's name such as aten::fill_*")
    if unit == "bytes":
        return Budget(ops=ops, unit="bytes", limit=parse_size(limit))
    if not limit.strip().isdecimal():
        raise BadInputError(f"{part!r}: {limit!r} is not a number of calls; allowed: 0, 1, 2, …")
    return Budget(ops=ops, unit="calls", limit=int(limit))
