"""A compiled model whose varying dimensions are padded to buckets, so that each bucket is compiled once."""

from __future__ import annotations

import inspect
import itertools
import math
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from accelplug.buckets import warmup
from accelplug.buckets.guard import Mode, NoMoreCompiles, compilations, no_more_compiles, running
from accelplug.buckets.marks import marked
from accelplug.buckets.outputs import cut_back
from accelplug.buckets.spec import Buckets
from accelplug.buckets.tensors import pad
from accelplug.buckets.usage import Usage
from accelplug.buckets.warmup import WarmupPlan
from accelplug.errors import BadInputError, CompileRefusedError, ShapeRefusedError

if TYPE_CHECKING:
    import torch

Fixed = tuple[tuple[int | str, ...], Any, Any]  # shape with the names of axes in it, dtype, device


class Bucketed:
    """Calls a compiled model with its arguments padded, and cuts its outputs back.

    ``plan`` is the shapes there are, ``usage`` counts. Anything else is looked up in the model itself.
    """

    def __init__(self, model: Callable[..., Any], compiled: Callable[..., Any], buckets: Buckets) -> None:
        """``compiled`` is ``model`` compiled for static shapes. Raises BadInputError where ``buckets`` don't fit it."""
        self._model = model
        self._compiled = compiled
        self._buckets = buckets
        self._signature = buckets.check_arguments(model)
        kinds = self._signature.parameters.values()
        self._rest = next((each.name for each in kinds if each.kind is inspect.Parameter.VAR_KEYWORD), "")
        self._ladders = buckets.made()
        self._fixed: dict[str, Fixed] = {}
        self._warm = False
        self.plan = plan(buckets)
        self.usage = Usage(getattr(model, "__name__", type(model).__name__))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As the model's own. Raises ShapeRefusedError, with the limit, for a length above the largest bucket, and for
        a dimension that changes and has no ladder."""
        call = self._signature.bind(*args, **kwargs)
        lengths = self._lengths(call)
        fixed = self._checked(call)
        sizes = {axis: self._ladders[axis].choose(length, axis) for axis, length in lengths.items()}
        result = self._run(call, lengths, sizes)
        self._fixed |= fixed
        return result

    def warm_up(self, *args: Any, **kwargs: Any) -> None:
        """Compiles all shapes, largest first, with a bar: give it the arguments of an example, of any length.

        What else a graph depends on must be as in service: grad mode, training or not. Only the forward pass is run.
        Raises WarmupError.
        """
        example = self._signature.bind(*args, **kwargs)
        self._lengths(example)
        fixed = self._checked(example)

        def compile_one(**sizes: int) -> None:
            call = self._signature.bind(*args, **kwargs)
            for arguments, name in self._given(call):
                arguments[name] = self._sized(name, arguments[name], sizes)
            self._run(call, sizes, sizes)

        warmup.run(self.plan, compile_one)
        self._fixed |= fixed
        self._warm = True

    def no_more_compiles(self, mode: Mode = "error") -> NoMoreCompiles:
        """The context for after `warm_up`: see `accelplug.buckets.no_more_compiles`."""
        return no_more_compiles(mode)

    def __getattr__(self, name: str) -> Any:
        if name == "_model":  # not there yet, in an object that is being copied
            raise AttributeError(name)
        return getattr(self._model, name)

    def _run(self, call: inspect.BoundArguments, lengths: Mapping[str, int], sizes: Mapping[str, int]) -> Any:
        for arguments, name in self._given(call):
            tensor = arguments[name]
            for dim, axis in self._buckets.arguments[name].items():
                tensor = pad(tensor, dim, sizes[axis], self._buckets.fill[name])
            arguments[name] = tensor.contiguous()  # as a graph depends on strides too
        thread = threading.get_ident()

        def compiling(_: Any) -> None:
            if threading.get_ident() == thread:
                self.usage.compiled(in_service=self._warm)

        bucket = warmup.name([*sizes.values()])
        with running(self.plan, **sizes), compilations(compiling), marked(self.usage.part, bucket):
            result = self._compiled(*call.args, **call.kwargs)
        if lengths is not sizes:
            self.usage.hit(bucket, math.prod(lengths.values()), math.prod(sizes.values()))
        return cut_back(result, self._buckets.outputs, lengths, sizes)

    def _lengths(self, call: inspect.BoundArguments) -> dict[str, int]:
        """The length of each axis in this call."""
        import torch

        found: dict[str, tuple[int, str]] = {}
        bucketed = {name: arguments[name] for arguments, name in self._given(call)}
        for name, tensor in bucketed.items():
            for dim, axis in self._buckets.arguments[name].items():
                if not isinstance(tensor, torch.Tensor) or not -tensor.dim() <= dim < tensor.dim():
                    raise BadInputError(f"argument {name!r} has no dimension {dim}; it is {_described(tensor)}")
                length, other = found.setdefault(axis, (tensor.shape[dim], name))
                if tensor.shape[dim] != length:
                    raise BadInputError(
                        f"{axis!r} is {length} in {other!r} and {tensor.shape[dim]} in {name!r}; "
                        "dimensions of one axis have one length"
                    )
        for axis in self._ladders:
            if axis not in found:
                raise BadInputError(f"no argument in this call has the axis {axis!r}, so its length isn't known")
        return {axis: found[axis][0] for axis in self._ladders}

    def _checked(self, call: inspect.BoundArguments) -> dict[str, Fixed]:
        """What must not change from call to call, of this one. Raises ShapeRefusedError where it has changed."""
        fixed = {}
        for name, tensor in _tensors(self._merged(call)):
            axes = {dim % tensor.dim(): axis for dim, axis in self._buckets.arguments.get(name, {}).items()}
            shape = tuple(axes.get(dim, size) for dim, size in enumerate(tensor.shape))
            fixed[name] = now = (shape, tensor.dtype, tensor.device)
            before = self._fixed.get(name, now)
            if now != before:
                raise ShapeRefusedError(
                    f"argument {name!r} was {_fixed(before)} in the first call and is {_fixed(now)} now: it would be "
                    "compiled anew; name a dimension that changes in buckets, or compile the model a second time"
                )
        return fixed

    def _given(self, call: inspect.BoundArguments) -> Iterator[tuple[dict[str, Any], str]]:
        """Where each padded argument is that this call has: among the arguments, or among those of ``**kwargs``."""
        for name in self._buckets.arguments:
            arguments = call.arguments if name in self._signature.parameters else call.arguments.get(self._rest, {})
            if arguments.get(name) is not None:
                yield arguments, name

    def _merged(self, call: inspect.BoundArguments) -> dict[str, Any]:
        """All arguments by name, those of ``**kwargs`` by their own."""
        merged = dict(call.arguments)
        merged.update(merged.pop(self._rest, {}))
        return merged

    def _sized(self, name: str, tensor: torch.Tensor, sizes: Mapping[str, int]) -> torch.Tensor:
        for dim, axis in self._buckets.arguments[name].items():
            tensor = tensor.narrow(dim, 0, min(tensor.shape[dim], sizes[axis]))
            tensor = pad(tensor, dim, sizes[axis], self._buckets.fill[name])
        return tensor


def plan(buckets: Buckets) -> WarmupPlan:
    """All shapes that the buckets allow."""
    ladders = buckets.made()
    return WarmupPlan(axes=tuple(ladders), shapes=tuple(itertools.product(*(made.sizes for made in ladders.values()))))


def limits(buckets: Buckets) -> dict[str, Any]:
    """What ``torch.compile`` is told so that all shapes find room, and torch's usual number of other variants beside.

    Raises CompileRefusedError where the installed torch can't be told so, or never holds that many graphs.
    """
    import torch
    from torch._dynamo import config

    shapes, most = len(plan(buckets).shapes), config.accumulated_recompile_limit
    if "isolate_recompiles" not in inspect.signature(torch.compile).parameters:
        raise CompileRefusedError(
            f"torch {torch.__version__} can't hold a graph for each bucket; use torch 2.13 or later"
        )
    if shapes > most:
        raise CompileRefusedError(
            f"the buckets make {shapes} shapes, and torch holds {most} graphs of one function "
            "(torch._dynamo.config.accumulated_recompile_limit); give fewer buckets, or raise that limit"
        )
    return {"recompile_limit": shapes + config.recompile_limit, "isolate_recompiles": True}


def _tensors(arguments: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    import torch

    for name, value in arguments.items():
        if isinstance(value, torch.Tensor):
            yield f"{path}{name}", value
        elif isinstance(value, (tuple, list)):
            yield from _tensors({str(index): part for index, part in enumerate(value)}, f"{path}{name}.")
        elif isinstance(value, dict):
            yield from _tensors({str(key): part for key, part in value.items()}, f"{path}{name}.")


def _fixed(fixed: Fixed) -> str:
    shape, dtype, device = fixed
    return f"({', '.join(map(str, shape))}) {dtype} on {device}"


def _described(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return f"of type {type(value).__name__}" if shape is None else f"of shape {tuple(shape)}"
