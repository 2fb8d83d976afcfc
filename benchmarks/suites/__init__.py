"""The suites, in the order in which they run."""

from __future__ import annotations

from benchmarks.suite import Suite
from benchmarks.suites import (
    activation,
    compiled,
    fallbacks,
    http,
    kernels,
    offline,
    padding,
    peers,
    selection,
    simulated,
)

SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (
        selection.SUITE,
        activation.SUITE,
        kernels.SUITE,
        fallbacks.SUITE,
        compiled.SUITE,
        padding.SUITE,
        simulated.SUITE,
        offline.SUITE,
        http.SUITE,
        peers.SUITE,
    )
}
