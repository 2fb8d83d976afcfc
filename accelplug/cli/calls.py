"""A call of an operator as people type it: shapes and values."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from accelplug.errors import BadInputError

SCALAR = "scalar"


def shapes(text: str) -> list[tuple[int, ...]]:
    """``"2x3,4"`` as ``[(2, 3), (4,)]``; ``scalar`` has no dimensions. Raises BadInputError for anything else."""
    return [_shape(part.strip()) for part in text.split(",") if part.strip()]


def _shape(text: str) -> tuple[int, ...]:
    if text == SCALAR:
        return ()
    sizes = text.split("x")
    if not all(size.isdecimal() for size in sizes):
        raise BadInputError(f"--shape {text!r}: write 128x256 for a tensor, {SCALAR} for one without dimensions")
    return tuple(map(int, sizes))


def values(given: Sequence[str]) -> dict[str, Any]:
    """``["dim=-1"]`` as ``{"dim": -1}``: values are Python's, and text where they are none. Raises BadInputError."""
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise BadInputError(f"--value {text!r}: write it as NAME=VALUE, such as dim=-1")
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[name] = value
    return found
