"""Numbers as people read them. What isn't known is a dash."""

from __future__ import annotations

UNKNOWN = "–"


def count(number: int | None) -> str:
    """``12,345``."""
    return UNKNOWN if number is None else f"{number:,}"


def size(number: int | None) -> str:
    """Bytes: ``1.5 MiB``."""
    if number is None:
        return UNKNOWN
    value = float(number)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def duration(nanoseconds: int | None) -> str:
    """``3.2 ms``."""
    if nanoseconds is None:
        return UNKNOWN
    value = float(nanoseconds)
    for unit in ("ns", "µs", "ms"):
        if value < 1000:
            return f"{value:.0f} ns" if unit == "ns" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} s"


def share(number: float | None) -> str:
    """``98.2 %``; never 100 % where something is missing."""
    if number is None:
        return UNKNOWN
    return "100 %" if number == 1 else f"{min(number, 0.999) * 100:.1f} %"
