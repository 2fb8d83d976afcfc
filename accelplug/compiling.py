"""``torch.compile(model, backend="accelplug")``: each graph goes to the compiler of the device it is on.

A graph on a device whose backend brings tables is compiled with those; any other exactly as ``backend="inductor"``
would. torch, Dynamo and Inductor are imported when they are used.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from accelplug import tables
from accelplug.buckets import Buckets
from accelplug.buckets.compiled import Bucketed, limits
from accelplug.errors import BadInputError, CompileRefusedError
from accelplug.tables import DeviceTables
from accelplug.tables.decompositions import Table, keyed
from accelplug.tables.lowerings import install

if TYPE_CHECKING:
    import torch

NAME = "accelplug"  # the entry point in the group torch_dynamo_backends


def compile(
    model: Callable[..., Any] | None = None,
    *,
    dynamic: bool | None = None,
    buckets: Buckets | None = None,
    **arguments: Any,
) -> Any:
    """``torch.compile(model, backend="accelplug")``, also as a decorator.

    ``arguments`` are those of ``torch.compile`` except ``backend``. Where the device compiles static shapes only,
    ``dynamic`` is False unless given, so that a new shape is compiled anew, up to torch's ``recompile_limit``. The
    device is the one that the model's parameters are on; of a function, the one made live in this process.
    Raises BadInputError for ``backend``, CompileRefusedError for ``dynamic=True`` on such a device.

    With ``buckets`` the dimensions that it names are padded to few sizes, on any device: see `accelplug.Buckets`. What
    is returned is then an `accelplug.buckets.Bucketed`. Raises CompileRefusedError for ``dynamic=True`` with them.
    """
    if "backend" in arguments:
        raise BadInputError(
            f"accelplug.compile chooses the backend by device; for backend={arguments['backend']!r} use torch.compile"
        )
    if model is None:
        return functools.partial(compile, dynamic=dynamic, buckets=buckets, **arguments)
    if buckets is not None:
        if dynamic:
            raise CompileRefusedError("dynamic=True and buckets: buckets make shapes static; leave one of them out")
        return Bucketed(model, compile(model, dynamic=False, **{**limits(buckets), **arguments}), buckets)
    import torch

    if dynamic is not False and (static := _static_device(model)) is not None:
        if dynamic:
            raise CompileRefusedError(
                f"dynamic=True, but {static} compiles static shapes only: leave dynamic out, or pass dynamic=False"
            )
        dynamic = False
    return torch.compile(model, backend=NAME, dynamic=dynamic, **arguments)


def backend(
    graph: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """The Dynamo backend: compiles one graph for the device that its tensors are on; returns what runs it.

    ``mode`` and ``options`` are those of ``torch.compile``. Raises CompileRefusedError for symbolic shapes on a device
    that compiles static ones only, for tensors on two devices that compile differently, and where the device's
    compiler isn't there; BackendError where a hook of the device's backend fails.
    """
    import torch

    device = _device(graph, example_inputs)
    if device is None:
        return torch._TorchCompileInductorWrapper(mode, options, None)(graph, example_inputs)
    if device.compiler.static_shapes:
        _refuse_symbolic_shapes(graph, example_inputs, device.device_type)
    compiler, options = device.compiler.backend, {**device.compiler.options, **(options or {})}
    if compiler is None:
        return _through_inductor(device, graph, example_inputs, mode, options)
    given = {key: value for key, value in (("mode", mode), ("options", options)) if value}
    if isinstance(compiler, str):
        return _registered(compiler, device)(graph, example_inputs, **given)
    table = device.decompositions()
    with keyed(table):
        return compiler(graph, example_inputs, decompositions=table, **given)


def inductor(
    graph: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """The Dynamo backend of a simulated SDK: Inductor with the device's tables, whatever its CompilerSpec names.

    ``mode`` and ``options`` are those of ``torch.compile``. Raises as `backend` does.
    """
    device = _device(graph, example_inputs)
    if device is None:
        return backend(graph, example_inputs, mode=mode, options=options)
    if device.compiler.static_shapes:
        _refuse_symbolic_shapes(graph, example_inputs, device.device_type)
    return _through_inductor(device, graph, example_inputs, mode, options)


def _through_inductor(
    device: DeviceTables,
    graph: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    mode: str | None,
    options: Mapping[str, Any] | None,
) -> Any:
    import torch

    patches = torch._TorchCompileInductorWrapper(mode, options, None).config
    arguments = {"config_patches": patches}
    if device.inner_compile is not None:
        arguments["inner_compile"] = device.inner_compile
    table = device.decompositions(patches.get("fallback_random"))
    return compile_with(table, graph, example_inputs, **arguments)


def compile_with(table: Table, graph: torch.fx.GraphModule, example_inputs: Sequence[Any], **arguments: Any) -> Any:
    """Inductor with a device's decompositions and lowerings, cached for them alone; returns what runs the graph.

    ``arguments`` are further ones of ``torch._inductor.compile_fx.compile_fx``: a compiler that changes the graph first
    passes ``inner_compile``. Raises CompileRefusedError where the installed torch can't do it.
    """
    from torch._inductor.compile_fx import compile_fx
    from torch._inductor.graph import GraphLowering

    _require_parameter(compile_fx, "decompositions", table)
    _require_parameter(GraphLowering.__init__, "get_decomp_fn", table)
    install(table)
    with keyed(table):
        return compile_fx(graph, example_inputs, decompositions=table, **arguments)


def _require_parameter(function: Callable[..., Any], parameter: str, table: Table) -> None:
    if parameter not in inspect.signature(function).parameters:
        import torch

        raise CompileRefusedError(
            f"torch {torch.__version__} can't compile for {table.device_type} with its own decompositions "
            f"({function.__qualname__} has no {parameter!r}); use torch 2.13 or later"
        )


def _registered(name: str, device: DeviceTables) -> Any:
    """The Dynamo backend that the device's SDK has registered under ``name``."""
    from torch._dynamo.backends.registry import list_backends, lookup_backend

    if name not in list_backends(exclude_tags=()):
        raise CompileRefusedError(
            f"{device.device_type} is compiled by the Dynamo backend {name!r}, which its SDK registers and which isn't "
            f"there (there are: {', '.join(list_backends())}); is the SDK loaded? accelplug.select() loads it"
        )
    return lookup_backend(name)


def _device(graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> DeviceTables | None:
    """The tables of the one device in the graph that has any; None where no device has."""
    types = sorted(set(_device_types(graph, example_inputs)))
    found = [device for device in map(tables.tables_for, types) if device is not None]
    if len(found) > 1:
        names = " and ".join(device.device_type for device in found)
        raise CompileRefusedError(
            f"one graph has tensors on {names}, which compile differently: move them to one device, or break the graph "
            "between them with torch._dynamo.graph_break()"
        )
    return found[0] if found else None


def _device_types(graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Iterator[str]:
    """The device types of inputs, constants and results: a graph may make all its tensors itself."""
    import torch
    from torch.utils._pytree import tree_leaves

    values = [*example_inputs, *graph.parameters(), *graph.buffers()]
    for node in (node for module in graph.modules() if hasattr(module, "graph") for node in module.graph.nodes):
        values += tree_leaves((node.meta.get("val"), node.meta.get("example_value")))
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value.device.type


def _refuse_symbolic_shapes(graph: torch.fx.GraphModule, example_inputs: Sequence[Any], device_type: str) -> None:
    inputs = [node for node in graph.graph.nodes if node.op == "placeholder"]
    symbolic = []
    for node, example in zip(inputs, example_inputs, strict=True):
        shape = _symbolic(node.meta.get("example_value", example))  # Dynamo's examples themselves are real tensors
        if shape is not None:
            symbolic.append(f"{node.name} {shape}")
    if symbolic:
        raise CompileRefusedError(
            f"{device_type} compiles static shapes only, and the graph has symbolic ones: {', '.join(symbolic)}. "
            "Use accelplug.compile(model), or pass dynamic=False to torch.compile: then each new shape is compiled "
            "anew, up to torch._dynamo.config.recompile_limit; pad inputs to a few shapes to stay below it"
        )


def _symbolic(value: object) -> str | None:
    """The shape of an input that isn't a fixed one, as text: ``(s0, 4)``."""
    import torch

    if isinstance(value, torch.SymInt):
        return str(value)
    if isinstance(value, torch.Tensor) and any(isinstance(size, torch.SymInt) for size in value.shape):
        return str(tuple(value.shape))
    return None


def _static_device(model: Callable[..., Any]) -> str | None:
    """A device type of ``model`` that compiles static shapes only, None if there is none."""
    for device_type in _devices_of(model):
        device = tables.tables_for(device_type)
        if device is not None and device.compiler.static_shapes:
            return device_type
    return None


def _devices_of(model: Callable[..., Any]) -> list[str]:
    import torch

    if isinstance(model, torch.nn.Module):
        own = {tensor.device.type for tensor in (*model.parameters(), *model.buffers())}
        if own:
            return sorted(own)
    return sorted({*tables.live_types(), torch._C._get_privateuse1_backend_name()})
