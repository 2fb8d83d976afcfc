"""What crosses between host and device in a server's steps."""

from __future__ import annotations

import pytest

from accelplug.reporting import text
from accelplug.specs import StepTransfers, Transfers
from accelplug.tables.steps import Steps


class Sdk:
    """Copies are counted as an SDK does it, for the whole process."""

    def __init__(self) -> None:
        self.calls = self.bytes = 0

    def copy(self, size: int) -> None:
        self.calls, self.bytes = self.calls + 1, self.bytes + size

    def transfers(self) -> Transfers:
        return Transfers(to_device_calls=self.calls, to_device_bytes=self.bytes)


def test_what_is_copied_between_steps_is_not_theirs() -> None:
    sdk = Sdk()
    steps = Steps(sdk.transfers)
    sdk.copy(1000)  # weights
    for size in (8, 24):
        with steps.within(begins=True):
            sdk.copy(size)
        with steps.within(begins=False):  # the second half of the same step
            sdk.copy(1)
    assert steps.read() == StepTransfers(steps=2, to_device_calls=4, to_device_bytes=34)
    steps.reset()
    assert steps.read() is None


def test_a_reset_of_the_sdks_counts_within_a_step_takes_nothing_away() -> None:
    sdk = Sdk()
    steps = Steps(sdk.transfers)
    sdk.copy(1000)
    with steps.within(begins=True):
        sdk.calls = sdk.bytes = 0
    assert steps.read() == StepTransfers(steps=1)


def test_without_an_sdk_that_counts_there_is_nothing_to_read() -> None:
    steps = Steps(None)
    with steps.within(begins=True):
        pass
    assert steps.read() is None


@pytest.mark.parametrize("steps", [1, 4])
def test_the_report_says_it_by_step(steps: int) -> None:
    moved = StepTransfers(
        steps=steps, to_device_calls=2 * steps, to_device_bytes=64 * steps, to_host_calls=steps, to_host_bytes=4 * steps
    )
    assert text.steps(moved) == f"a step, of {steps}: 2.0 copies (64 B) to the device, 1.0 copies (4 B) to the host"
