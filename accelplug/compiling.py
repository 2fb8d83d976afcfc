"""``torch.compile(model, backend="accelplug")``: each graph goes to the compiler of the device it is on.

A graph on a device whose backend brings tables is compiled with those; any other exactly as ``backend="inductor"``
would. torch, Dynamo and Inductor are imported when they are used.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from accelplug import tables
from accelplug.buckets import Buckets
from accelplug.buckets.compiled import Bucketed, limits
from accelplug.errors import BadInputError, CompileRefusedError
from accelplug.static_shapes import Limited, refuse_symbolic
from accelplug.tables import DeviceTables
from accelplug.tables.decompositions import Table, keyed
from accelplug.tables.graphs import device_types
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
    ``dynamic`` is False unless given, so that a new shape is compiled anew, and past ``recompile_limit`` (torch's, if
    not given) a call is an error: CompileRefusedError, inside of Dynamo's BackendCompilerFailed. The device is the one
    that the model's parameters are on; of a function, the one made live in this process.
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

    static = _static_device(model)
    if static is None:
        return torch.compile(model, backend=NAME, dynamic=dynamic, **arguments)
    if dynamic:
        raise CompileRefusedError(
            f"dynamic=True, but {static} compiles static shapes only: leave dynamic out, or pass dynamic=False"
        )
    from torch._dynamo import config

    _require_parameter(torch.compile, "isolate_recompiles", static)
    limit = arguments.pop("recompile_limit", None) or config.recompile_limit
    arguments["recompile_limit"] = limit + 1  # so that ours, which is an error, is the one to be met
    arguments.setdefault("isolate_recompiles", True)  # counted, as ours is, for this call of compile alone
    return torch.compile(model, backend=Limited(backend, NAME, static, limit), dynamic=False, **arguments)


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
    from torch._dynamo.utils import counters

    device = _device(graph, example_inputs)
    if device is None:
        return torch._TorchCompileInductorWrapper(mode, options, None)(graph, example_inputs)
    if device.compiler.static_shapes:
        refuse_symbolic(graph, example_inputs, device.device_type)
    compiled = _compiled(device, graph, example_inputs, mode, {**device.compiler.options, **(options or {})})
    counters["accelplug"][f"graphs compiled for {device.device_type}"] += 1
    return compiled


def _compiled(
    device: DeviceTables, graph: torch.fx.GraphModule, example_inputs: Sequence[Any], mode: str | None, options: Any
) -> Any:
    compiler = device.compiler.backend
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
        refuse_symbolic(graph, example_inputs, device.device_type)
    return _through_inductor(device, graph, example_inputs, mode, options)


def _through_inductor(
    device: DeviceTables,
    graph: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    mode: str | None,
    options: Mapping[str, Any] | None,
) -> Any:
    import torch
    from torch._inductor.compile_fx import compile_fx_inner

    from accelplug.graph_inputs import checked

    patches = torch._TorchCompileInductorWrapper(mode, options, None).config
    table = device.decompositions(patches.get("fallback_random"))
    inner_compile = checked(device.inner_compile or compile_fx_inner, from_the_start=device.constraints.clone_offset)
    return compile_with(table, graph, example_inputs, config_patches=patches, inner_compile=inner_compile)


def compile_with(table: Table, graph: torch.fx.GraphModule, example_inputs: Sequence[Any], **arguments: Any) -> Any:
    """Inductor with a device's decompositions and lowerings, cached for them alone; returns what runs the graph.

    ``arguments`` are further ones of ``torch._inductor.compile_fx.compile_fx``: a compiler that changes the graph first
    passes ``inner_compile``. Raises CompileRefusedError where the installed torch can't do it.
    """
    from torch._inductor.compile_fx import compile_fx
    from torch._inductor.graph import GraphLowering

    _require_parameter(compile_fx, "decompositions", table.device_type)
    _require_parameter(GraphLowering.__init__, "get_decomp_fn", table.device_type)
    install(table)
    with keyed(table):
        return compile_fx(graph, example_inputs, decompositions=table, **arguments)


def _require_parameter(function: Callable[..., Any], parameter: str, device_type: str) -> None:
    if parameter not in inspect.signature(function).parameters:
        import torch

        raise CompileRefusedError(
            f"torch {torch.__version__} can't compile for {device_type} as it needs ({function.__qualname__} has no "
            f"{parameter!r}); use torch 2.13 or later"
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
    types = sorted(device_types(graph, example_inputs))
    found = [device for device in map(tables.tables_for, types) if device is not None]
    if len(found) > 1:
        names = " and ".join(device.device_type for device in found)
        raise CompileRefusedError(
            f"one graph has tensors on {names}, which compile differently: move them to one device, or break the graph "
            "between them with torch._dynamo.graph_break()"
        )
    return found[0] if found else None


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
