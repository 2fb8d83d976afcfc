"""A device's decomposition table: PyTorch's own with the backend's changes, and safe to cache graphs with.

Two things make it safe, and torch 2.13 does neither by itself. Its AOTAutograd cache doesn't look at the table, so a
graph that was taken apart by another one, or by an older release of the same, is handed out as if it fitted: `keyed`
puts the table's fingerprint into the key. Its FX graph cache does look, by pickling the table, which fails: a `Table`
pickles as a reference. (Found with torch 2.13.0: tests/compiling/test_hammer.py.)
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import accelplug
from accelplug.errors import BackendError
from accelplug.specs import Decompositions
from accelplug.tables.fingerprint import described, fingerprint, name

if TYPE_CHECKING:
    from accelplug.tables.kernels import KernelTable
    from accelplug.tables.scope import State

_tables: dict[tuple[str, str], Table] = {}


class Table(dict[Any, Callable[..., Any]]):
    """``{operator: function}`` for one device type, never changed after it was built, known by its fingerprint.

    ``whole`` are the operators that PyTorch takes apart and this table doesn't. ``lowerings`` go with the table, for
    nodes on the device type ``lowered_on``.
    """

    __slots__ = ("device_type", "fingerprint", "lowered_on", "lowerings", "whole")

    def __init__(
        self,
        entries: Mapping[Any, Callable[..., Any]],
        device_type: str,
        fingerprint: str,
        *,
        whole: Iterable[Any],
        lowerings: Mapping[Any, Callable[..., Any]],
        lowered_on: str,
    ) -> None:
        super().__init__(entries)
        self.device_type = device_type
        self.fingerprint = fingerprint
        self.whole = tuple(whole)
        self.lowerings = dict(lowerings)
        self.lowered_on = lowered_on

    def __reduce_ex__(self, protocol: object) -> tuple[Callable[[str, str], Table], tuple[str, str]]:
        return lookup, (self.device_type, self.fingerprint)

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise TypeError(f"the decomposition table of {self.device_type} is fixed: graphs compiled with it are cached")

    __setitem__ = __delitem__ = __ior__ = pop = popitem = clear = update = setdefault = _refuse


def build(
    device_type: str,
    changes: Decompositions,
    *,
    origin: str,
    cache_key: str = "",
    lowered_on: str = "",
    kernels: KernelTable | None = None,
    state: State = (),
) -> Table:
    """PyTorch's table, as its Inductor would choose it now, with ``changes``.

    ``origin`` is the distribution and version that the changes come from, ``cache_key`` what else a graph depends on.
    ``lowered_on`` is the device type that Inductor sees, where it isn't ``device_type``. ``kernels`` are put in before
    anything is taken apart, as the scopes of ``state`` allow. Raises BackendError for a key that isn't an operator
    overload, an operator that no table can reach, or a function that can't be fingerprinted.
    """
    import torch
    from torch._decomp import remove_decompositions
    from torch._inductor.decomposition import select_decomp_table

    from accelplug.ops import composites

    _check(changes, origin)
    stock = select_decomp_table()
    entries = {**composites(), **stock}
    remove_decompositions(entries, changes.exclude)
    whole = [op for op in stock if op not in entries]
    entries.update(changes.add)
    chosen = kernels.choices(entries, state) if kernels else {}
    lowered_on = lowered_on or device_type
    parts = [accelplug.__version__, torch.__version__, origin, changes.version, cache_key, device_type, lowered_on]
    parts += sorted(f"{op} {name(function)}" for op, function in entries.items())
    parts += sorted(f"{op} {described(function)}" for op, function in changes.add.items())
    parts += sorted(f"lowering {op} {described(function)}" for op, function in changes.lowerings.items())
    parts += kernels.described(state) if kernels else []
    digest = fingerprint(parts)
    entries.update(chosen)
    table = Table(entries, device_type, digest, whole=whole, lowerings=changes.lowerings, lowered_on=lowered_on)
    return _tables.setdefault((device_type, digest), table)


def lookup(device_type: str, fingerprint: str) -> Table:
    """The table that a pickled reference names, built from this process's backends if it hasn't been.

    Raises BackendError where this process has another one: its packages differ from those of the other process.
    """
    if (device_type, fingerprint) not in _tables:
        from accelplug.tables import tables_for

        if (tables := tables_for(device_type)) is not None:
            tables.decompositions()
    if (device_type, fingerprint) not in _tables:
        known = ", ".join(known for kind, known in _tables if kind == device_type) or "none"
        raise BackendError(
            f"there is no decomposition table {fingerprint} for {device_type} in this process (here: {known}); "
            "the process that refers to it has other versions of torch, accelplug or the backend installed"
        )
    return _tables[device_type, fingerprint]


@contextlib.contextmanager
def keyed(table: Table) -> Iterator[None]:
    """Compiles inside are cached for this table only, in this thread. A tag that the user has set stays in the key."""
    from torch.compiler import config

    tag = f"{config.cache_key_tag}accelplug:{table.device_type}:{table.fingerprint}"
    with config.patch(cache_key_tag=tag):
        yield


def _check(changes: Decompositions, origin: str) -> None:
    """Raises BackendError for what would be an error later, or have no effect."""
    from torch._ops import OpOverload, OpOverloadPacket

    for op in (*changes.add, *changes.lowerings):
        if not isinstance(op, OpOverload):
            overloads = f"; its overloads: {', '.join(op.overloads())}" if isinstance(op, OpOverloadPacket) else ""
            raise BackendError(
                f"{op!r} in the decompositions or lowerings of {origin} is not an operator overload such as "
                f"torch.ops.aten.mm.default{overloads}"
            )
    for op in changes.exclude:
        if not isinstance(op, (OpOverload, OpOverloadPacket)):
            raise BackendError(f"{op!r} in `exclude` of {origin} is not an operator such as torch.ops.aten.mm")
    for op in changes.add:
        if _always_taken_apart(op):
            raise BackendError(
                f"{op} in the decompositions of {origin} would have no effect: PyTorch takes it apart before it looks "
                "at a table. Give the operator that it ends in, or register a kernel for it on the device"
            )


def _always_taken_apart(op: Any) -> bool:
    """Whether PyTorch has one implementation, made of other operators, and no device has a kernel."""
    from torch._C import _dispatch_has_kernel_for_dispatch_key as has_kernel

    kinds = ("CPU", "CUDA", "PrivateUse1")
    return has_kernel(op.name(), "CompositeImplicitAutograd") and not any(has_kernel(op.name(), kind) for kind in kinds)
