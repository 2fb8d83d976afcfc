"""How much memory a simulated device has: it is the host's, and the profile may say more than there is."""

from __future__ import annotations

import logging

import psutil

log = logging.getLogger("vllm.accelplug")

# Of what is free on the host, for all simulated devices of a server: the rest is for processes and for other things.
PART_OF_THE_HOST = 0.5


def there(total: int, simulated: bool) -> int:
    """The memory of a device that says it has ``total`` bytes."""
    return min(total, psutil.virtual_memory().total) if simulated else total


def granted(requested: int, utilization: float, workers: int) -> int:
    """What a simulated device can be given of the ``requested`` bytes, where ``workers`` share the host.

    ``utilization`` is vLLM's: the part of a device's memory that it takes.
    """
    free = psutil.virtual_memory().available
    most = int(free * PART_OF_THE_HOST / workers * utilization)
    if requested > most:
        log.info(
            "accelplug: a simulated device has the host's memory: it gets %.1f GiB (%.1f GiB are free) instead of "
            "%.1f GiB; --kv-cache-memory-bytes says otherwise",
            *(size / 2**30 for size in (most, free, requested)),
        )
    return min(requested, most)
