"""How much of this process's CPUs other processes are using right now."""

from __future__ import annotations

import functools
import os
import time

STAT = "/proc/stat"
SAMPLE = 0.3  # seconds


@functools.cache
def cores_used_by_others() -> float:
    """CPUs that other processes kept busy over a short sample, of those that this one may run on; 0 without /proc.

    Sampled once per process, so that a configuration that vLLM updates twice comes out the same.
    """
    if not os.path.exists(STAT):
        return 0.0
    start, busy, own = time.perf_counter(), _busy(), time.process_time()
    time.sleep(SAMPLE)
    seconds = time.perf_counter() - start
    return max(0.0, _busy() - busy - (time.process_time() - own)) / seconds


def _busy() -> float:
    """Seconds that the CPUs of this process have spent on anything but waiting, since the machine started."""
    mine = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    with open(STAT) as lines:
        fields = [line.split() for line in lines]
    # user nice system idle iowait irq softirq steal; guest time is part of user time
    ticks = sum(sum(map(int, (*row[1:4], *row[6:8]))) for row in fields if row[0] in mine)
    return ticks / os.sysconf("SC_CLK_TCK")
