"""Which devices of the machine a process sees: what a fault or a lock of another process means by a device's number."""

from __future__ import annotations

import os
import re


def numbers(visible_devices: str, count: int) -> list[int]:
    """The numbers in the machine of this process's ``count`` devices, in their order.

    ``visible_devices`` names the variable that limits what a process sees: with ``2,3`` in it, device 0 of this process
    is number 2 of the machine. The backend's probe has found the variable's value to be right.
    """
    found: list[int] = []
    for first, last in re.findall(r"([0-9]+)(?:-([0-9]+))?", os.environ.get(visible_devices, "")):
        found += range(int(first), int(last or first) + 1)
    return found[:count] if len(found) >= count else [*range(count)]
