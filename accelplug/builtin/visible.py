"""How many devices the visible-devices variables of GPU runtimes leave."""

from __future__ import annotations


def cuda_style(value: str | None, present: int) -> int:
    """Counts the entries up to the first that names no device, as the CUDA and HIP runtimes do.

    Unset leaves all; an entry named twice leaves none. Entries are indices, or UUIDs (``GPU-…``, ``MIG-…``), which are
    taken as they are.
    """
    if value is None:
        return present
    seen: set[str] = set()
    for entry in (part.strip() for part in value.split(",")):
        if entry in seen:
            return 0
        if not (entry.startswith(("GPU-", "MIG-")) or _names(entry, present)):
            break
        seen.add(entry)
    return len(seen)


def level_zero_style(value: str | None, present: int) -> int:
    """Counts the devices that ``ZE_AFFINITY_MASK`` names, whole (``1``) or by tile (``1.0``). Unset or empty: all."""
    if not value:
        return present
    named = {entry.partition(".")[0].strip() for entry in value.split(",")}
    return sum(_names(device, present) for device in named)


def _names(entry: str, present: int) -> bool:
    return entry.isdecimal() and int(entry) < present
