"""Site folders with packages in them, as pip would have left them: metadata and files, no pip."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from pathlib import Path

from processes import PATIENCE, environment

from accelplug.specs import Host


class Packages:
    """A site folder to install small packages into, and the host that sees nothing else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(
        self,
        name: str,
        version: str = "1.0",
        requires: tuple[str, ...] = (),
        entry_points: Mapping[str, str] | None = None,
        files: Mapping[str, str | bytes] | None = None,
        installer: str = "pip",
    ) -> Path:
        """Writes a package; ``entry_points`` is ``{"group:name": "module:attribute"}``. Returns its metadata folder."""
        info = self.folder / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        required = "".join(f"Requires-Dist: {text}\n" for text in requires)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}")
        (info / "INSTALLER").write_text(f"{installer}\n")
        lines = [
            f"[{key.rpartition(':')[0]}]\n{key.rpartition(':')[2]} = {value}\n"
            for key, value in (entry_points or {}).items()
        ]
        (info / "entry_points.txt").write_text("".join(lines))
        record = [f"{info.name}/{file},," for file in ("METADATA", "INSTALLER", "entry_points.txt", "RECORD")]
        for path, content in (files or {}).items():
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(written := content if isinstance(content, bytes) else content.encode())
            digest = urlsafe_b64encode(hashlib.sha256(written).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(written)}")
        (info / "RECORD").write_text("".join(f"{line}\n" for line in record))
        return info

    def host(self, **environ: str) -> Host:
        return Host(site=[self.folder], environ=environ)

    def python(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Runs this interpreter, with the packages before those that are installed for real."""
        return subprocess.run(
            [sys.executable, *arguments],
            env=environment(PYTHONPATH=str(self.folder), **environ),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
