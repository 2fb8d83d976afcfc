"""vLLM's groups of workers on a device outside of its tree: where they are, and whether their collectives work."""

from __future__ import annotations

import torch
from vllm.distributed import parallel_state

from accelplug.errors import AccelplugError
from accelplug.specs import Feature
from accelplug_vllm.native.device import NativeDevice

ELEMENTS = 128  # few, and a multiple of what devices pad a row to


def put_on(device: torch.device) -> None:
    """Tells the groups where this worker is: vLLM takes device ``local_rank``, also for a worker that sees one device
    alone. See compat: "groups.device"."""
    for reference in parallel_state._groups.values():
        group = reference()
        if group is None:
            continue
        group.device = device
        if group.device_communicator is not None:
            group.device_communicator.device = device


def check_all_reduce(here: NativeDevice, device: torch.device, dtype: torch.dtype) -> None:
    """Adds numbers up over the workers, the way the model will, so that a backend that doesn't is found at start.

    Nothing is checked for one worker, or where the device has collectives in compiled graphs only.
    Raises AccelplugError in each worker that gets another sum.
    """
    group = parallel_state.get_tp_group()
    if group.world_size == 1:
        group = parallel_state.get_world_group()
    if group.world_size == 1 or Feature.eager_collectives in here.capabilities.cannot:
        return
    # Small whole numbers, which also sum up exactly in bfloat16, and not all the same.
    numbers = [1 + rank % 2 for rank in range(group.world_size)]
    given = torch.full((1, ELEMENTS), numbers[group.rank_in_group], dtype=dtype, device=device)
    if group.device_communicator is not None:
        given = group.all_reduce(given)
    else:
        torch.distributed.all_reduce(given, group=group.device_group)
    found = sorted(set(given.flatten().tolist()))
    if found != [sum(numbers)]:
        raise AccelplugError(
            f"all_reduce over {group.world_size} workers on {device.type} doesn't add up: rank {group.rank_in_group} "
            f"of ranks {group.ranks} expected {sum(numbers)} everywhere and got "
            f"{', '.join(f'{number:g}' for number in found[:4])}; distributed backend {here.distributed_backend!r}. "
            "Models would answer nonsense, so this server stops; one device works (leave --tensor-parallel-size at 1)"
        )
