"""What a kernel asks of a call, as a list of clauses: made here, evaluated here for graphs and reports, in C++ eagerly.

``csrc/predicate.h`` has the same clauses under the same numbers. Both stop at the first that a call doesn't meet, so a
call is refused for the same reason wherever it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from accelplug.errors import BackendError, did_you_mean
from accelplug.specs import Kernel, TensorRule
from accelplug.specs.kernel import Scalar

ALL = "*"
MOST_DIMENSIONS = 62  # ranks are bits of a number in C++


class Kind(IntEnum):
    """What a clause is about. The numbers are those of ``csrc/predicate.h``."""

    resolved = 0
    dtype = 1
    rank = 2
    multiple = 3
    at_least = 4
    at_most = 5
    contiguous = 6
    zero_offset = 7
    value = 8


@dataclass(frozen=True)
class Clause:
    """One thing asked of one argument.

    ``argument`` is its number in the schema and ``name`` its name; ``dimension`` and ``number`` belong to what is asked
    of a dimension, ``allowed`` are names of dtypes, numbers of dimensions, or values.
    """

    argument: int
    name: str
    kind: Kind
    dimension: int = 0
    number: int = 0
    allowed: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {self._asked()}"

    def _asked(self) -> str:
        if self.kind in (Kind.multiple, Kind.at_least, Kind.at_most):
            return f"has a dimension {self.dimension} of {_WORDS[self.kind]} {self.number}"
        if self.kind in _FLAGS:
            return _FLAGS[self.kind]
        values = [repr(value) if self.kind is Kind.value else str(value) for value in self.allowed]
        return f"{_SUBJECT[self.kind]}{' or '.join(values)}"


_WORDS = {Kind.multiple: "a multiple of", Kind.at_least: "at least", Kind.at_most: "at most"}
_SUBJECT = {Kind.dtype: "is ", Kind.rank: "has a number of dimensions of ", Kind.value: "is "}
_FLAGS = {
    Kind.resolved: "has no conjugation or negation pending",
    Kind.contiguous: "is contiguous",
    Kind.zero_offset: "starts where its memory does",
}


def clauses(kernel: Kernel, schema: Any) -> tuple[Clause, ...]:
    """The clauses of a kernel of the operator with this ``torch._C.FunctionSchema``.

    Raises BackendError for an argument that the operator doesn't have, a rule for one of another kind, a dtype that
    PyTorch doesn't have.
    """
    known = [argument.name for argument in schema.arguments]
    for name in (*kernel.accepts, *kernel.values):
        if name not in known and not (name == ALL and name in kernel.accepts):
            raise BackendError(
                f"kernel {kernel}: {kernel.op} has no argument {name!r}{did_you_mean(name, known)}; "
                f"it has: {', '.join(known)}"
            )
    return tuple(_clauses(kernel, schema))


def _clauses(kernel: Kernel, schema: Any) -> Iterator[Clause]:
    for number, argument in enumerate(schema.arguments):
        name = argument.name
        if is_tensor(argument.type):
            if name in kernel.values:
                raise BackendError(f"kernel {kernel}: {name!r} of {kernel.op} is a tensor; use `accepts` for it")
            yield Clause(number, name, Kind.resolved)
            for rule in (kernel.accepts.get(name), kernel.accepts.get(ALL)):
                if rule is not None:
                    yield from _of_rule(number, name, rule, kernel)
        elif name in kernel.accepts:
            raise BackendError(f"kernel {kernel}: {name!r} of {kernel.op} isn't a tensor; use `values` for it")
        elif name in kernel.values:
            yield Clause(number, name, Kind.value, allowed=kernel.values[name])


def _of_rule(number: int, name: str, rule: TensorRule, kernel: Kernel) -> Iterator[Clause]:
    import torch

    for dtype in rule.dtypes:
        if not isinstance(getattr(torch, dtype, None), torch.dtype):
            raise BackendError(f"kernel {kernel}: {dtype!r} in the dtypes of {name!r} is no dtype of torch's")
    if rule.dtypes:
        yield Clause(number, name, Kind.dtype, allowed=tuple(_name(getattr(torch, dtype)) for dtype in rule.dtypes))
    if rule.ranks:
        if not all(0 <= rank <= MOST_DIMENSIONS for rank in rule.ranks):
            raise BackendError(f"kernel {kernel}: ranks of {name!r} are 0 to {MOST_DIMENSIONS}, got {rule.ranks}")
        yield Clause(number, name, Kind.rank, allowed=rule.ranks)
    for kind in (Kind.multiple, Kind.at_least, Kind.at_most):
        asked: dict[int, int] = getattr(rule, "multiples" if kind is Kind.multiple else kind.name)
        for dimension, size in asked.items():
            yield Clause(number, name, kind, dimension, size)
    for kind, wanted in ((Kind.contiguous, rule.contiguous), (Kind.zero_offset, rule.zero_offset)):
        if wanted:
            yield Clause(number, name, kind)


def is_tensor(kind: object) -> bool:
    """Whether an argument's type in a schema is a tensor, an optional one, or a list of either."""
    return str(kind).replace("Optional", "").replace("List", "").strip("[]") == "Tensor"


def failing(asked: Iterable[Clause], arguments: Sequence[Any]) -> tuple[Clause, str] | None:
    """The first clause that a call doesn't meet and what it got instead, None where it meets all.

    ``arguments`` are all of the schema's, in its order; tensors may be real, fake or on the meta device.
    """
    for clause in asked:
        value = arguments[clause.argument]
        if clause.kind is Kind.value:
            if not any(_same(value, allowed) for allowed in clause.allowed):
                return clause, repr(value)
            continue
        for tensor in value if isinstance(value, (list, tuple)) else [value]:
            if tensor is not None and not _MEETS[clause.kind](clause, tensor):
                return clause, _got(clause, tensor)
    return None


def _same(value: object, allowed: object) -> bool:
    """Equal as C++ has it: a bool is no number, while 1 and 1.0 are the same."""
    if isinstance(value, bool) or isinstance(allowed, bool):
        return value is allowed
    return value == allowed


def _dimension(clause: Clause, tensor: Any, meets: Callable[[Any, int], bool]) -> bool:
    there = -tensor.dim() <= clause.dimension < tensor.dim()
    return there and bool(meets(tensor.size(clause.dimension), clause.number))


_MEETS: dict[Kind, Callable[[Clause, Any], bool]] = {
    Kind.resolved: lambda clause, tensor: not tensor.is_conj() and not tensor.is_neg(),
    Kind.dtype: lambda clause, tensor: _name(tensor.dtype) in clause.allowed,
    Kind.rank: lambda clause, tensor: tensor.dim() in clause.allowed,
    Kind.multiple: lambda clause, tensor: _dimension(clause, tensor, lambda size, number: size % number == 0),
    Kind.at_least: lambda clause, tensor: _dimension(clause, tensor, lambda size, number: size >= number),
    Kind.at_most: lambda clause, tensor: _dimension(clause, tensor, lambda size, number: size <= number),
    Kind.contiguous: lambda clause, tensor: bool(tensor.is_contiguous()),
    Kind.zero_offset: lambda clause, tensor: bool(tensor.storage_offset() == 0),
}


def _got(clause: Clause, tensor: Any) -> str:
    if clause.kind is Kind.dtype:
        return _name(tensor.dtype)
    if clause.kind in (Kind.contiguous, Kind.zero_offset, Kind.resolved):
        return f"strides {tuple(tensor.stride())} and offset {tensor.storage_offset()}"
    return f"shape {tuple(tensor.shape)}"


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def encoded(asked: Sequence[Clause]) -> tuple[list[int], list[str]]:
    """The clauses as C++ takes them: four numbers for each, and the values that they refer to."""
    import torch

    numbers: list[int] = []
    values: list[str] = []
    for clause in asked:
        x, y = clause.dimension, clause.number
        if clause.kind is Kind.dtype:
            x = torch.ops.accelplug_dispatch.dtype_bits([*clause.allowed])
        elif clause.kind is Kind.rank:
            x = sum(1 << rank for rank in set(clause.allowed))
        elif clause.kind is Kind.value:
            x, y = len(values), len(values) + len(clause.allowed)
            values += map(_encoded, clause.allowed)
        numbers += [clause.argument, int(clause.kind), x, y]
    return numbers, values


def _encoded(value: Scalar) -> str:
    if value is None:
        return "n"
    if isinstance(value, bool):
        return f"b{int(value)}"
    return f"{'i' if isinstance(value, int) else 'f' if isinstance(value, float) else 's'}{value}"
