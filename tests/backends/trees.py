"""Builds folders that look like machines: what a probe may read, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from accelplug.specs import Host

STRANGER = 65501  # a user and group that own none of the files that tests make


class Tree:
    """A root folder and one folder of installed packages, empty until something is put in."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.site = folder / "site"
        self.root.mkdir()
        self.site.mkdir()

    def file(self, path: str, text: str) -> None:
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text + "\n")

    def node(self, path: str, mode: int = 0o666) -> None:
        """A device node; a plain file does, since probes open none."""
        self.file(path, "a probe must not read this")
        (self.root / path.lstrip("/")).chmod(mode)

    def link(self, path: str, to: str) -> None:
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(to)

    def package(self, name: str, version: str, text: str = "", backend: str = "", requires: str = "") -> None:
        """The metadata of an installed package; ``backend`` is its entry point in torch.backends."""
        info = self.site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        required = f"Requires-Dist: {requires}\n" if requires else ""
        head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}"
        (info / "METADATA").write_text(f"{head}\n{text}\n")
        if backend:
            (info / "entry_points.txt").write_text(f"[torch.backends]\n{backend} = {backend}:_autoload\n")

    def module(self, name: str, text: str) -> None:
        (self.site / name).mkdir()
        (self.site / name / "__init__.py").write_text(text)

    def host(self, environ: Mapping[str, str] | None = None, uid: int = STRANGER) -> Host:
        return Host(self.root, environ or {}, [self.site], system="Linux", machine="x86_64", uid=uid, groups=[STRANGER])


def in_new_process(code: str, tree: Tree, **environ: str) -> subprocess.CompletedProcess[str]:
    """Runs ``code`` in a new interpreter that finds the tree's packages first; ROOT and SITE are the tree's folders."""
    prelude = (
        f"import sys; sys.path.insert(0, {str(tree.site)!r}); ROOT, SITE = {str(tree.root)!r}, {str(tree.site)!r}\n"
    )
    kept = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}  # the code under test
    return subprocess.run(
        [sys.executable, "-c", prelude + code], capture_output=True, text=True, env={**kept, **environ}, check=False
    )


PROBE_UNDER_AUDIT = """
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from accelplug.specs import Host
import accelplug_{name} as backend
found = backend.accelplug_device().probe(Host(ROOT, {{}}, [SITE]))
assert found.verdict == "usable", found
assert any(path.startswith(ROOT + "/sys/") for path in opened), "the audit hook saw no file: the test proves nothing"
nodes = [path for path in opened if path.startswith((ROOT + "/dev/", "/dev/neuron", "/dev/vfio"))]
assert not nodes, nodes
imported = {{"torch", "torch_neuronx", "torch_spyre", "vllm"}} & set(sys.modules)
assert not imported, imported
print("clean")
"""
