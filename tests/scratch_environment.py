"""An environment of its own that has all of this one's packages, and in which a package can be installed offline."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import venv
from pathlib import Path

# pip reads its options from the environment; "0" is how it is told not to isolate builds.
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

# As pip writes it. Processes that are spawned import it again.
VLLM = """#!{python}
from vllm.entrypoints.cli.main import main

if __name__ == "__main__":
    main()
"""


class Scratch:
    """``python`` and ``vllm`` are its programs."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder)
        self.python = folder / "bin" / "python"
        self.vllm = folder / "bin" / "vllm"
        self.vllm.write_text(VLLM.format(python=self.python))
        self.vllm.chmod(0o755)
        site = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
        site.mkdir(parents=True, exist_ok=True)
        (site / "parent.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")

    def run(self, *command: object, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end, offline; its output is one text, as a terminal shows it."""
        return subprocess.run(
            [*map(str, command)],
            cwd=cwd,
            env={**os.environ, **OFFLINE, **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=540,
            check=False,
        )

    def accelplug(self, *arguments: object, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
        """The command ``accelplug``, in this environment."""
        return self.run(self.python, "-m", "accelplug", *arguments, cwd=cwd, **environ)
