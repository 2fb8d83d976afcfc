"""Libraries to preload into processes that compute on the CPU: a faster allocator, and one OpenMP for all.

vLLM preloads torch's OpenMP, and tcmalloc where its wheel carries one. Here the system's tcmalloc is found too.
"""

from __future__ import annotations

import os

from accelplug.specs import Host

VARIABLE = "LD_PRELOAD"
TCMALLOC = r"libtcmalloc(_minimal)?\.so\.\d+"
FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/s390x-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
)


def allocator() -> list[str]:
    """Adds tcmalloc to this process's ``LD_PRELOAD``, for its children; says so. Nothing where there is none."""
    found = tcmalloc(Host())
    if found is None or "tcmalloc" in os.environ.get(VARIABLE, ""):
        return []
    os.environ[VARIABLE] = joined(found, os.environ.get(VARIABLE, ""))
    return ["tcmalloc preloaded"]


def tcmalloc(host: Host) -> str | None:
    """The system's tcmalloc, the smaller variant first."""
    found = [library for folder in FOLDERS for library in host.list(folder, TCMALLOC)]
    return min(found, key=lambda library: "minimal" not in library, default=None)


def openmp(host: Host) -> str | None:
    """torch's own OpenMP library: with a second one in the process, thread binding would miss half of the threads."""
    torch = host.package("torch")
    folders = [torch.parent / "torch.libs", torch / "lib"] if torch else []
    return next((str(library) for folder in folders for library in sorted(folder.glob("libgomp*.so*"))), None)


def joined(*libraries: str) -> str:
    """A value for ``LD_PRELOAD``; what is "" is left out."""
    return ":".join(library for library in libraries if library)
