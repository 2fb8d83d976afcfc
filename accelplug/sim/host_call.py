"""Runs a function of CPU tensors on tensors of the simulated device, without copying a byte."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def on_host(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function on tensors of the device: they are lent to it, and what it returns is the device's."""

    @functools.wraps(function)
    def on_device(*args: Any, **kwargs: Any) -> Any:
        import torch
        from torch.utils._pytree import tree_leaves, tree_map_only

        ops = torch.ops.accelplug_sim
        indices = [leaf.device.index for leaf in tree_leaves((args, kwargs)) if _is_on_device(leaf)]
        index = indices[0] if indices else ops.current_device()
        args, kwargs = tree_map_only(torch.Tensor, ops.host_alias.default, (args, kwargs))
        result = function(*args, **kwargs)
        return tree_map_only(torch.Tensor, lambda tensor: ops.adopt.default(tensor, index), result)

    return on_device


def _is_on_device(value: object) -> bool:
    import torch

    from accelplug.sim import device

    return isinstance(value, torch.Tensor) and value.device.type == device.registered()
