"""How much memory of the device vLLM may take."""

from __future__ import annotations

import logging

log = logging.getLogger("vllm.accelplug")

# Of the host's free memory, for all of a simulated device: the rest is for the processes and for other things.
PART_OF_THE_HOST = 0.5


def granted(requested: int, utilization: float, workers: int) -> int:
    """What a simulated device can be given of ``requested`` bytes: its memory is the host's, and may be more than that.

    ``workers`` share the host, and ``utilization`` is vLLM's, which applies to what is really there.
    """
    import psutil

    there = psutil.virtual_memory().available
    most = int(there * PART_OF_THE_HOST / workers * utilization)
    if requested <= most:
        return requested
    log.info(
        "accelplug: a simulated device has the host's memory: it gets %.1f GiB (of %.1f GiB that are free) "
        "instead of %.1f GiB; --kv-cache-memory-bytes says otherwise",
        most / 2**30,
        there / 2**30,
        requested / 2**30,
    )
    return most
