"""A simulated device's memory is the host's."""

from __future__ import annotations

import psutil
from accelplug_vllm.native import memory

MUCH = 1 << 60


def test_a_simulated_device_has_no_more_memory_than_the_host() -> None:
    assert memory.there(MUCH, simulated=True) == psutil.virtual_memory().total
    assert memory.there(MUCH, simulated=False) == MUCH
    assert memory.there(1 << 20, simulated=True) == 1 << 20


def test_workers_share_half_of_what_is_free_there() -> None:
    half = psutil.virtual_memory().available / 2
    assert half * 0.8 * 0.9 < memory.granted(MUCH, utilization=0.9, workers=1) <= half * 1.2 * 0.9
    assert memory.granted(MUCH, utilization=0.9, workers=4) < half * 1.2 * 0.9 / 4
    assert memory.granted(1 << 20, utilization=0.9, workers=1) == 1 << 20
