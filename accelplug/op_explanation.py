"""``accelplug.explain_op``: which kernel would run a call, and why the others would not. Nothing is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from accelplug import settings, tables
from accelplug.api import devices
from accelplug.errors import BadInputError, UnknownDeviceError, did_you_mean
from accelplug.plugins import Backend, discover
from accelplug.specs import KernelOutcome, OpExplanation, Outcome
from accelplug.tables import operators, predicate, scope
from accelplug.tables.kernel_ops import KernelOp
from accelplug.tables.kernels import KernelTable

Dtypes = str | Sequence[str]


def explain_op(
    op: str,
    shapes: Sequence[Sequence[int]],
    *,
    dtype: Dtypes = "float32",
    values: Mapping[str, Any] | None = None,
    device: str | None = None,
) -> OpExplanation:
    """What becomes of a call of ``"aten::mm"`` with contiguous tensors of these shapes.

    ``shapes`` go to the tensor arguments in their order, and ``dtype`` is theirs, or one for each; ``values`` are the
    other arguments by name; ``device`` is the name of a backend, live or not: by default the one live in this process,
    else the one that `auto` would choose. The scope of `kernels` that is open counts. Kernels are loaded to see whether
    they are there, but for those of a device that is simulated.
    Raises BadInputError for an operator, an argument, a dtype or a shape that can't be; UnknownDeviceError.
    """
    overload = operators.find(op)
    arguments = _arguments(overload._schema, shapes, dtype, dict(values or {}))
    _check_call(overload, arguments)
    backend = _backend(device)
    table, live = _table(backend)
    state = scope.state(scope.current())
    outcomes = _outcomes(table, overload.name(), arguments, state)
    return OpExplanation(
        op=op,
        device=backend.name,
        simulated=table.simulated,
        live=live,
        loaded=not table.simulated,
        call=_call(op, arguments),
        kernels=tuple(outcomes),
        otherwise=_otherwise(overload, table, live),
    )


def _arguments(schema: Any, shapes: Sequence[Sequence[int]], dtype: Dtypes, values: dict[str, Any]) -> list[Any]:
    """The arguments of the call, with tensors on the meta device."""
    tensors = _tensors(shapes, dtype)
    known = [argument.name for argument in schema.arguments if not predicate.is_tensor(argument.type)]
    for name in values:
        if name not in known:
            raise BadInputError(
                f"value {name!r}: {schema.name} has no such argument{did_you_mean(name, known)}; "
                f"it has: {', '.join(known) or 'tensors only'}"
            )
    arguments, missing = [], []
    for argument in schema.arguments:
        if not predicate.is_tensor(argument.type):
            arguments.append(values.get(argument.name, argument.default_value))
            if argument.name not in values and not argument.has_default_value():
                missing.append(argument.name)
        elif "List" in str(argument.type):
            arguments.append(tensors)
            tensors = []
        elif tensors:
            arguments.append(tensors.pop(0))
        else:
            arguments.append(argument.default_value)
            if not str(argument.type).startswith("Optional"):
                missing.append(f"a shape for {argument.name}")
    if missing or tensors:
        wrong = (
            f"it lacks {', '.join(missing)}"
            if missing
            else f"it takes {len(shapes) - len(tensors)} shapes, not {len(shapes)}"
        )
        raise BadInputError(f"{schema}: {wrong}")
    return arguments


def _check_call(overload: Any, arguments: list[Any]) -> None:
    """Raises BadInputError with PyTorch's own words where the operator can't be called so."""
    args, kwargs = operators.split(overload._schema, arguments)
    try:
        overload(*args, **kwargs)
    except NotImplementedError:
        return  # it can't be tried without data
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        raise BadInputError(f"{_call(overload.name(), arguments)} is no call: {str(error).splitlines()[0]}") from None


def _tensors(shapes: Sequence[Sequence[int]], dtype: Dtypes) -> list[Any]:
    import torch

    names = [dtype] * len(shapes) if isinstance(dtype, str) else [*dtype]
    if len(names) != len(shapes):
        raise BadInputError(f"{len(names)} dtypes for {len(shapes)} shapes; give one for all, or one for each")
    known = [name for name in dir(torch) if isinstance(getattr(torch, name), torch.dtype)]
    for name in names:
        if name not in known:
            raise BadInputError(f"unknown dtype {name!r}{did_you_mean(name, known)}")
    for shape in shapes:
        if any(size < 0 for size in shape):
            raise BadInputError(f"shape {tuple(shape)}: sizes are 0 or more")
    return [
        torch.empty(tuple(shape), dtype=getattr(torch, name), device="meta")
        for shape, name in zip(shapes, names, strict=True)
    ]


def _backend(device: str | None) -> Backend:
    values = settings.read().values
    found = {backend.name: backend for backend in discover(values.backends, values.simulate) if backend.spec}
    if device is None:
        live = [backend.name for backend in found.values() if backend.name in tables.live_names()]
        device = live[0] if len(live) == 1 else devices().chosen
    if device is None or device == "auto":
        device = devices().chosen or "cpu"
    if device not in found:
        raise UnknownDeviceError(device, found, "device")
    return found[device]


def _table(backend: Backend) -> tuple[KernelTable, bool]:
    """The backend's kernels, and whether they are those in use; else they are only looked at."""
    assert backend.spec is not None
    if backend.name in tables.live_names():
        built = tables.tables_for(backend.spec.torch_type)
        if built is not None:
            return built.kernels, True
    return KernelTable(backend, backend.spec.torch_type, backend.spec.stand_in), False


def _outcomes(table: KernelTable, op: str, arguments: list[Any], state: scope.State) -> list[KernelOutcome]:
    allowed = table.order(op, state)
    rest = [each for each in table.by_op.get(op, []) if each not in allowed]
    found: list[KernelOutcome] = []
    runs = ""
    for each in allowed:
        outcome, reason = _outcome(each, arguments, runs)
        if outcome is Outcome.runs:
            runs = str(each.kernel)
        found.append(_of(each, outcome, reason))
    return found + [_of(each, Outcome.off, table.refusal(each.kernel, state) or "") for each in rest]


def _outcome(made: KernelOp, arguments: list[Any], runs: str) -> tuple[Outcome, str]:
    if reason := made.failing(arguments):
        return Outcome.refuses, reason
    if not made.load():
        return Outcome.unavailable, made.unavailable
    return (Outcome.outranked, f"{runs} comes before it") if runs else (Outcome.runs, "")


def _of(made: KernelOp, outcome: Outcome, reason: str) -> KernelOutcome:
    kernel = made.kernel
    return KernelOutcome(kernel=str(kernel), level=kernel.level, ran_on=kernel.ran_on, outcome=outcome, reason=reason)


def _call(op: str, arguments: list[Any]) -> str:
    return f"{op}({', '.join(map(_said, arguments))})"


def _said(value: Any) -> str:
    import torch

    if isinstance(value, list) and value and isinstance(value[0], torch.Tensor):
        return f"[{', '.join(map(_said, value))}]"
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}[{'x'.join(map(str, value.shape))}]"
    return repr(value)


def _otherwise(overload: Any, table: KernelTable, live: bool) -> str:
    """What runs where no kernel takes the call, as far as that can be known."""
    from accelplug.ops import composites

    if overload in composites():
        return "the operators it is made of"
    if not live:
        return f"what the SDK of {table.device} has for it: a kernel of its own, or the CPU"
    return f"what the SDK of {table.device} has registered for it: a kernel of its own, or its fallback to the CPU"
