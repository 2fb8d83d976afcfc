"""What is underneath a simulated device: it compiles, runs in the place of kernels, and counts fallbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accelplug.specs.fallback import FallbackSource
from accelplug.specs.record import Record


class StandIn(Record):
    """The device type that Inductor sees instead of the device's own, and what turns a graph into one on it.

    ``inner_compile`` is an argument of ``torch._inductor.compile_fx.compile_fx``; None where the graph is such already.
    ``on_host`` turns a function of CPU tensors into one of the device's, without copying them; it takes the function
    and its name on a timeline. Where there is one, the references of kernels run in their place; None where the kernels
    themselves do.
    ``spells_out`` is told of each kernel's operator and its reference, where that can be traced; None where graphs keep
    the operator.
    ``fallbacks`` answers in the place of the backend's hook accelplug_fallbacks; None: the hook does.
    """

    lowered_on: str
    inner_compile: Callable[..., Any] | None = None
    on_host: Callable[[Callable[..., Any], str], Callable[..., Any]] | None = None
    spells_out: Callable[[Any, Callable[..., Any]], None] | None = None
    fallbacks: FallbackSource | None = None
