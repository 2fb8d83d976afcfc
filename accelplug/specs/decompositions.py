"""How a backend wants operators taken apart before its compiler sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import Field, model_validator

from accelplug.specs.record import Record


class Decompositions(Record):
    """One backend's changes to PyTorch's decomposition table. They hold for graphs on its device and for no others.

    add
        ``{torch.ops.aten.gt.Tensor: function}``: calls of the operator are replaced by what the function does. It takes
        the operator's arguments, is made of other PyTorch operators, and may return NotImplemented to leave a call as
        it is, of an operator that the compiler knows. Plain functions only, as their code and what they hold go into a
        cache key: see `accelplug.tables.fingerprint`.
    exclude
        Operators that PyTorch's table takes apart and this device wants whole: ``torch.ops.aten.mm.default``, or
        ``torch.ops.aten.mm`` for all its overloads.
    version
        Enters every cache key; change it when the decompositions' results change for a reason that isn't in their code.
    lowerings
        ``{torch.ops.aten.mm.default: function}``: how Inductor lowers the operator on this device. Takes Inductor's IR,
        as functions made with ``torch._inductor.lowering.register_lowering`` do; returning None leaves the node to
        whoever lowers it otherwise.

    torch is not imported here, so operators are typed as Any; `accelplug.tables` checks them when it builds the table.
    """

    add: dict[Any, Callable[..., Any]] = Field(default_factory=dict)
    exclude: tuple[Any, ...] = ()
    version: str = ""
    lowerings: dict[Any, Callable[..., Any]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _no_operator_is_added_and_excluded(self) -> Decompositions:
        excluded = set(self.exclude)
        both = [str(op) for op in self.add if not excluded.isdisjoint({op, getattr(op, "overloadpacket", op)})]
        if both:
            raise ValueError(f"{', '.join(both)} in both `add` and `exclude`; an added one replaces PyTorch's anyway")
        return self
