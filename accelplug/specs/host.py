"""The host as a probe may see it: files under a root, environment, package metadata. Nothing is imported or opened."""

from __future__ import annotations

import os
import platform
import re
import stat
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any


class Host:
    """A read-only view of one machine and one Python environment, all of it replaceable by tests.

    Paths are given and returned as the machine knows them (``/dev/neuron0``), wherever ``root`` really lies.
    ``site`` are the folders searched for installed packages, in the order of ``sys.path``.
    """

    def __init__(
        self,
        root: str | Path = "/",
        environ: Mapping[str, str] | None = None,
        site: Sequence[str | Path] | None = None,
        system: str = platform.system(),
        machine: str = platform.machine(),
        uid: int | None = None,
        groups: Sequence[int] | None = None,
    ) -> None:
        self.root = Path(root)
        self.environ: Mapping[str, str] = os.environ if environ is None else environ
        self.site = [str(p) for p in (sys.path if site is None else site)]
        self.system = system
        self.machine = machine
        self.uid = os.geteuid() if uid is None else uid
        self.groups = frozenset(os.getgroups() if groups is None else groups)

    def view(self) -> dict[str, Any]:
        """What it was made with, as JSON holds it, without the environment: ``Host(**view)`` sees the same."""
        return {
            "root": str(self.root),
            "site": self.site,
            "system": self.system,
            "machine": self.machine,
            "uid": self.uid,
            "groups": sorted(self.groups),
        }

    # files

    def path(self, path: str) -> Path:
        """Where ``path`` really lies."""
        return self.root / path.lstrip("/")

    def exists(self, path: str) -> bool:
        """Whether there is something at ``path`` that this user can see."""
        return os.path.exists(self.path(path))

    def read(self, path: str) -> str | None:
        """The text of a small file without surrounding space, or None where there is none to be read."""
        try:
            return self.path(path).read_text(errors="replace").strip()
        except OSError:
            return None

    def link(self, path: str) -> str | None:
        """The last name in what a symbolic link points to (sysfs names a device's driver so), or None."""
        try:
            return os.path.basename(os.readlink(self.path(path)))
        except OSError:
            return None

    def list(self, folder: str, pattern: str) -> list[str]:
        """The paths in ``folder`` whose whole name matches the regular expression, in natural order."""
        try:
            names = os.listdir(self.path(folder))
        except OSError:
            return []
        found = [name for name in names if re.fullmatch(pattern, name)]
        return [f"{folder.rstrip('/')}/{name}" for name in sorted(found, key=_natural)]

    def may_open(self, path: str) -> bool:
        """Whether the mode bits of ``path`` let this user read and write it. The file is not opened."""
        try:
            st = self.path(path).stat()
        except OSError:
            return False
        if self.uid == 0:
            return True
        if st.st_uid == self.uid:
            wanted = stat.S_IRUSR | stat.S_IWUSR
        elif st.st_gid in self.groups:
            wanted = stat.S_IRGRP | stat.S_IWGRP
        else:
            wanted = stat.S_IROTH | stat.S_IWOTH
        return st.st_mode & wanted == wanted

    # packages

    def distribution(self, name: str) -> metadata.Distribution | None:
        """The installed distribution of that name, from its metadata on disk."""
        found = metadata.Distribution.discover(name=name, path=self.site)
        return next(iter(found), None)

    def version(self, name: str) -> str | None:
        """The version of an installed distribution, or None."""
        dist = self.distribution(name)
        return dist.version if dist else None

    def package(self, name: str) -> Path | None:
        """The folder of an importable top-level package, found without importing anything."""
        for folder in self.site:
            candidate = Path(folder or ".") / name
            if (candidate / "__init__.py").is_file():
                return candidate
        return None


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort key that puts neuron2 before neuron10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]
