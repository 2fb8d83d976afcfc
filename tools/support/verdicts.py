"""What came of a feature on a device, beside what came of it on the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Of a cell: the reference itself, equal to it, close to it, refused at start, wrong, or an error.
RAN, SAME, CLOSE, REFUSED, DIFFERS, FAILED = "ran", "same", "close", "refused", "differs", "failed"


def verdict(came: Mapping[str, Any], expected: Mapping[str, Any], tolerance: float) -> dict[str, str]:
    """The ``outcome``, and why where it isn't what people want. Both are as `offline` and `served` have them."""
    if "refused" in came:
        return {"outcome": REFUSED, "reason": came["refused"]}
    if "failed" in came:
        return {"outcome": FAILED, "reason": came["failed"]}
    if "output" not in expected:
        return {"outcome": RAN}
    if came["output"] == expected["output"] and not tolerance:
        return {"outcome": SAME}
    if tolerance and apart(came["output"], expected["output"]) <= tolerance:
        return {"outcome": CLOSE, "reason": f"within {tolerance:g}"}
    return {"outcome": DIFFERS, "reason": f"{_short(came['output'])} instead of {_short(expected['output'])}"}


def apart(one: Any, other: Any) -> float:
    """The largest difference of numbers that aren't whole; infinite where anything else differs."""
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other)
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return max((apart(a, b) for a, b in zip(one, other, strict=True)), default=0.0)
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return max((apart(one[key], other[key]) for key in one), default=0.0)
    return 0.0 if type(one) is type(other) and one == other else float("inf")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
