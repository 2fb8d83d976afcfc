"""The suites, in the order in which they run."""

from __future__ import annotations

from benchmarks.suite import Suite
from benchmarks.suites import http, offline, padding, peers, selection

SUITES: dict[str, Suite] = {
    suite.name: suite for suite in (selection.SUITE, padding.SUITE, offline.SUITE, http.SUITE, peers.SUITE)
}
