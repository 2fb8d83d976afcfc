"""What the benchmarks ran on, read while they run."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from benchmarks.records import Machine

GIB = 2**30


def machine() -> Machine:
    """CPU, usable logical cores, memory, operating system, and how busy it is."""
    return Machine(
        cpu=cpu_model(),
        cores=cores(),
        memory_gib=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB, 1),
        system=f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        load=round(os.getloadavg()[0], 2),
    )


def cores() -> int:
    """The logical cores that this process may use; all of them where the system has no such limit."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def cpu_model(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """The CPU's name; the architecture where the kernel gives none (as on most ARM machines, and on macOS)."""
    text = cpuinfo.read_text() if cpuinfo.exists() else ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else platform.machine()


def versions(names: Iterable[str], *folders: Path) -> dict[str, str]:
    """Python's version and those of the named distributions, which in ``folders`` go before the installed ones."""
    found = {"python": platform.python_version()}
    for name in names:
        placed = [d.version for folder in folders for d in metadata.distributions(name=name, path=[str(folder)])]
        found[name] = placed[0] if placed else metadata.version(name)
    return found
