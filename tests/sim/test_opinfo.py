"""Every op that PyTorch has samples of (OpInfo) gives on the device what it gives on the CPU, forward and backward.

The comparison is conformance's own: `accelplug conform NAME --area ops`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from accelplug import conformance
from accelplug.conformance import ConformanceReport
from accelplug.conformance.summary import ops

RIGHT = ("native", "fallback", "right")
NO_COMPLEX_AND_NO_FLOAT64 = 40  # ops whose every sample needs one of them, or makes one


@pytest.fixture(scope="module", params=["neuron", "spyre"])
def report(library: Path, request: pytest.FixtureRequest) -> ConformanceReport:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACCELPLUG_SIMULATE", request.param)
        return conformance.run(request.param, areas=["ops"])


def refused(report: ConformanceReport) -> int:
    """How many ops the device may refuse, for a dtype that it doesn't hold."""
    return NO_COMPLEX_AND_NO_FLOAT64 if report.device == "spyre" else 0


def right(counted: Counter[str]) -> int:
    return sum(counted[way] for way in RIGHT)


def test_nothing_is_wrong_and_nothing_crashes(report: ConformanceReport) -> None:
    assert report.ok, [(check.name, check.why) for check in report.wrong()]


def test_forward_is_right_for_at_least_641_of_642_ops(report: ConformanceReport) -> None:
    forward = ops(report, "forward")
    assert right(forward) >= 641 - refused(report), forward
    assert right(forward) + forward["refused"] >= 641


def test_backward_is_right_for_at_least_526_of_528_ops(report: ConformanceReport) -> None:
    backward = ops(report, "backward")
    assert right(backward) >= 526 - refused(report), backward
    assert right(backward) + backward["refused"] >= 526
