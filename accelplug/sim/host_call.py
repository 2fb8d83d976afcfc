"""Runs a function of CPU tensors on tensors of the simulated device, without copying a byte."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from accelplug.sim import device


def on_host(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function on tensors of the device: they are lent to it, and what it returns is the device's.

    ``name`` is what torch.profiler's timeline calls it.
    """

    @functools.wraps(function)
    def on_device(*args: Any, **kwargs: Any) -> Any:
        import torch

        ops = torch.ops.accelplug_sim
        began = ops.began.default()
        lend = functools.partial(_replaced, replace=ops.host_alias.default)
        result = function(*map(lend, args), **{name: lend(value) for name, value in kwargs.items()})
        index = _index((args, [*kwargs.values()]))
        if index is None:
            index = ops.current_device()
        if began:
            ops.kernel_ran.default(name, index, began)
        return _replaced(result, lambda tensor: ops.adopt.default(tensor, index))

    return on_device


def _replaced(value: Any, replace: Callable[[Any], Any]) -> Any:
    """The value with ``replace(tensor)`` for each tensor, also for those in lists and tuples."""
    import torch

    if isinstance(value, torch.Tensor):
        return replace(value)
    return type(value)(_replaced(each, replace) for each in value) if isinstance(value, (list, tuple)) else value


def _index(value: Any) -> int | None:
    """The index of the device that the first tensor on it is on."""
    import torch

    if isinstance(value, torch.Tensor):
        return value.device.index if value.device.type == device.registered() else None
    found = map(_index, value) if isinstance(value, (list, tuple)) else ()
    return next((index for index in found if index is not None), None)
