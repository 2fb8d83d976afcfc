"""A simulated device's memory is the host's."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest
from accelplug_vllm.native import memory

GIB = 1 << 30


@pytest.fixture(autouse=True)
def _host(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """One of 64 GiB, of which 40 are free."""
    caplog.set_level(logging.INFO, "vllm.accelplug")
    host = SimpleNamespace(total=64 * GIB, available=40 * GIB)
    monkeypatch.setattr(memory.psutil, "virtual_memory", lambda: host)


def test_a_simulated_device_has_no_more_memory_than_the_host() -> None:
    assert memory.there(96 * GIB, simulated=True) == 64 * GIB
    assert memory.there(96 * GIB, simulated=False) == 96 * GIB
    assert memory.there(16 * GIB, simulated=True) == 16 * GIB


def test_workers_share_half_of_what_is_free_there(caplog: pytest.LogCaptureFixture) -> None:
    assert memory.granted(80 * GIB, utilization=0.5, workers=1) == 10 * GIB
    assert "it gets 10.0 GiB (40.0 GiB are free) instead of 80.0 GiB" in caplog.text
    assert memory.granted(80 * GIB, utilization=0.5, workers=4) == 2.5 * GIB


def test_what_fits_is_granted_as_it_was_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    assert memory.granted(GIB, utilization=0.5, workers=1) == GIB
    assert caplog.text == ""
