"""What tests of doctor look at."""

from __future__ import annotations

from collections.abc import Iterable

from accelplug.doctor import Finding, Level


def bad(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that aren't ok."""
    return [finding for finding in findings if finding.level is not Level.ok]
