"""Applies the fixes that findings bring, one at a time."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator

from accelplug.doctor.finding import Action, Finding, Fix, FixError


def repair(findings: Iterable[Finding], consent: Callable[[Fix], bool]) -> Iterator[Action]:
    """Yields each action as it is done. ``consent`` is asked before each fix; False declines it."""
    for finding in findings:
        if finding.fix is not None:
            yield _apply(finding.check, finding.fix, consent)
    importlib.invalidate_caches()


def uninstall(distribution: str, python: str = sys.executable) -> Fix:
    """The fix that removes a package from ``python``'s environment with pip."""
    return Fix(action=f"pip uninstall {distribution}", apply=lambda: _pip_uninstall(distribution, python), removes=True)


def _apply(check: str, fix: Fix, consent: Callable[[Fix], bool]) -> Action:
    if not consent(fix):
        return Action(check=check, action=fix.action, outcome="declined", said="nothing was changed")
    try:
        return Action(check=check, action=fix.action, outcome="done", said=fix.apply())
    except FixError as error:
        return Action(check=check, action=fix.action, outcome="failed", said=str(error))


def _pip_uninstall(distribution: str, python: str) -> str:
    command = [python, "-m", "pip", "--disable-pip-version-check", "uninstall", "--yes", distribution]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    said = (done.stdout + done.stderr).strip().splitlines() or ["nothing"]
    if done.returncode or "Successfully uninstalled" not in done.stdout:
        raise FixError(f"`{' '.join(command)}` ended with code {done.returncode}: {said[-1].strip()}")
    return said[-1].strip()
