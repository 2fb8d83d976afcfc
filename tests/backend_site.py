"""Installs small backends for a test, really: a module, metadata and an entry point in a folder on ``sys.path``."""

from __future__ import annotations

import importlib
import itertools
import shutil
from pathlib import Path

from accelplug import api, notices, plugins, tables

HEAD = """
from accelplug.hookspecs import hookimpl
from accelplug.specs import DeviceSpec, Host, Probe, Verdict
"""
BACKEND = """
def probe(host: Host) -> Probe:
    {probe}

@hookimpl
def accelplug_device():
    return DeviceSpec(name={name!r}, title={title!r}, torch_type="cpu", probe=probe, **{spec!r})
"""
USABLE = "return Probe(verdict='usable', reason='there', count=1)"


class Site:
    """A folder of installed backends, as pip leaves them."""

    _numbers = itertools.count()  # a module name is used once, as Python remembers what it has imported

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def backend(
        self, name: str, probe: str = USABLE, *, head: str = "", distribution: str = "", **spec: object
    ) -> None:
        """Installs a backend: the body of its probe, source that runs at import, further fields of its DeviceSpec."""
        body = BACKEND.format(name=name, title=name.title(), probe=probe, spec=spec)
        self.module(name, head + HEAD + body, distribution)

    def module(self, name: str, source: str, distribution: str = "") -> str:
        """Installs any source as the backend ``name``; returns the module's name."""
        module = f"backend_{name}_{next(self._numbers)}"
        distribution = distribution or f"{name}-backend"
        (self.folder / f"{module}.py").write_text(source)
        self.metadata(distribution, name, module)
        return module

    def metadata(self, distribution: str, name: str, value: str) -> None:
        """Writes only the metadata of a distribution of version 1.2.3 with one entry point."""
        info = self.folder / f"{distribution.replace('-', '_')}-1.2.3.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2.3\n")
        (info / "entry_points.txt").write_text(f"[accelplug.backends]\n{name} = {value}\n")
        forget()

    def clear(self) -> None:
        """Uninstalls everything."""
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        forget()


def forget() -> None:
    """Forgets what this process knows of installed backends, what it chose and what it has said."""
    importlib.invalidate_caches()
    plugins.discover.cache_clear()
    api._auto.cache_clear()
    tables.forget()
    notices.warn_once.cache_clear()
