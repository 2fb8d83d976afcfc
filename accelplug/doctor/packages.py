"""Installed packages as the host's site folders have them, and code of theirs tried out in another process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata

from accelplug.interpreters import ended
from accelplug.specs import Host

SECONDS = 120
_CHILD = "import json, sys; site, code = json.loads(sys.argv[1]); sys.path[:0] = site; exec(code); print('\\nfinished')"


def entry_points(host: Host, group: str) -> list[metadata.EntryPoint]:
    """The group's entry points, by name. Of a distribution that is on the path twice, the first counts."""
    distributions: dict[str, metadata.Distribution] = {}
    for distribution in metadata.distributions(path=host.site):
        name = distribution.metadata["Name"]
        if name:
            distributions.setdefault(name.lower().replace("_", "-"), distribution)
    found = [e for d in distributions.values() for e in d.entry_points if e.group == group]
    return sorted(found, key=lambda e: (e.name, e.value))


def run_apart(host: Host, code: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """Runs code in a new interpreter that sees the host's packages; foreign code may crash or hang there.

    Returns what it printed, and what went wrong: "" or a text whose last line is the cause.
    """
    command = [sys.executable, "-c", _CHILD, json.dumps([[p for p in host.site if p], code])]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=SECONDS,
            env={**host.environ, **environ},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", f"it did not end within {SECONDS} s"
    if done.returncode == 0 and done.stdout.endswith("finished\n"):
        return done.stdout.removesuffix("finished\n").strip(), ""
    return done.stdout, done.stderr.strip() or f"{ended(done.returncode)} and said nothing"
