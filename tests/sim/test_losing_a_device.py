"""Whether an error means that the device is lost: the device is asked."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable

import pytest
import torch

from accelplug import device_loss

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Write = Callable[[str], str]

ASKED = """
from accelplug import device_loss
x = torch.zeros(4, device=D)
def ask(function):
    try:
        function()
    except Exception as error:
        found = device_loss.lost(x.device, error)
        print(type(found).__name__, found)
ask(lambda: x + torch.zeros(5, device=D))
ask(lambda: torch.empty(1 << 20, device=D))
full = [torch.empty(1, device=D) for _ in range(63)]
ask(lambda: torch.empty(1, device=D))
full.clear()
import pathlib
pathlib.Path("gone").touch()
ask(lambda: x + 1)
"""


def test_a_lost_device_is_told_from_a_wrong_call_and_from_a_full_device(simulated: Run, profile: Write) -> None:
    text = 'name = "acme"\nmemory_bytes = 4096\nalignment_bytes = 64\n[faults]\nlost_with_file = "gone"\n'
    wrong, large, full, lost = simulated(profile(text), ASKED).stdout.splitlines()
    assert wrong == large == full == "NoneType None"
    assert lost.startswith(
        "DeviceLostError acme:0 is lost; the last that came from it is AcceleratorError: acme:0 (simulated) is lost: "
        "its profile says so once gone is there"
    )


def test_a_device_that_does_not_answer_is_lost_too(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = threading.Event()
    monkeypatch.setattr(device_loss, "PATIENCE", 0.05)
    monkeypatch.setattr(device_loss, "_add", lambda device, failed: answer.wait())
    found = device_loss.lost(torch.device("cpu"), RuntimeError("timed out\nmore"))
    answer.set()
    assert str(found) == "cpu does not answer within 0.05 s; the last that came from it is RuntimeError: timed out"
