"""Entry points of installed packages: how others bring backends, commands, checks and more. None is loaded here."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points


def of_group(group: str) -> list[EntryPoint]:
    """Those of a group, by name. A distribution that is on the path twice counts once, as importlib.metadata has it."""
    return sorted(entry_points(group=group), key=lambda each: (each.name, each.value))


def origin(entry_point: EntryPoint) -> str:
    """The distribution and version that an entry point came with: ``"acme-torch 1.2"``."""
    return f"{entry_point.dist.name} {entry_point.dist.version}" if entry_point.dist else entry_point.value
