"""What compiles graphs on a backend's device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import Field, field_validator

from accelplug.specs.record import Record


class CompilerSpec(Record):
    """The compiler of one device, as ``torch.compile(backend="accelplug")`` uses it.

    backend
        None: PyTorch's Inductor, with the device's decompositions and lowerings. A name: the Dynamo backend that the
        SDK registers under it, called as Dynamo would, which brings its own decompositions. A function:
        ``backend(graph, example_inputs, *, decompositions, **given)``, where ``given`` is the ``mode`` and ``options``
        of ``torch.compile`` as far as there are any; it takes apart the graph with the table it is given.
    options
        ``options`` of ``torch.compile`` that hold on this device, under those that the user gives.
    static_shapes
        The device compiles fixed shapes only: a graph with a symbolic one is refused, with what to do.
    cache_key
        What else a compiled graph depends on, such as the version of the SDK's compiler. Enters every cache key.
    """

    backend: str | Callable[..., Any] | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    static_shapes: bool = False
    cache_key: str = ""

    @field_validator("backend")
    @classmethod
    def _another_backend(cls, value: object) -> object:
        if value in ("", "accelplug"):
            raise ValueError(f"backend {value!r}: name the Dynamo backend of the SDK, or None for Inductor")
        return value
