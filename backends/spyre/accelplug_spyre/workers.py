"""What must be in the environment of a process that works on one of several cards, before torch-spyre is imported."""

from __future__ import annotations

import os

from accelplug.specs import Worker
from accelplug_spyre.hardware import ASSIGNED_CARDS
from accelplug_spyre.software import AUTOLOAD
from accelplug_spyre.visible import DEVICES, WORLD_SIZE


def worker_env(worker: Worker) -> dict[str, str]:
    """The variables of one worker.

    ``libspyre_comms`` reads the ranks when it is loaded, and never again. torch must therefore not load the SDK while
    it is imported itself, when a process may not know its rank yet; `accelplug_spyre.load` does, later. The library
    finds the other cards by ``AIU_WORLD_RANK_<n>``, which are set from what the device plugin assigned, in its order,
    unless they or SPYRE_DEVICES say otherwise. All workers are on one machine. Not yet run on hardware.

    Raises ValueError where there are fewer assigned cards than workers.
    """
    ranks = {
        "RANK": str(worker.rank),
        "WORLD_SIZE": str(worker.world_size),
        "LOCAL_RANK": str(worker.local_rank),
        "LOCAL_WORLD_SIZE": str(worker.world_size),
        WORLD_SIZE: str(worker.world_size),
        AUTOLOAD: "0",
    }
    return ranks | _cards(worker.world_size)


def _cards(world_size: int) -> dict[str, str]:
    """The PCI address of each rank's card, as far as it is this module's to say."""
    addresses = [address.strip() for address in os.environ.get(ASSIGNED_CARDS, "").split(",") if address.strip()]
    if not addresses or DEVICES in os.environ:
        return {}
    if len(addresses) < world_size:
        raise ValueError(
            f"{world_size} workers need a card each, and {ASSIGNED_CARDS} has {len(addresses)}; request more cards"
        )
    names = (f"AIU_WORLD_RANK_{rank}" for rank in range(world_size))
    return {name: address for name, address in zip(names, addresses, strict=False) if name not in os.environ}
