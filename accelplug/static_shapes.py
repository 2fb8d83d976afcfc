"""Devices that compile fixed shapes only: no graph with a symbolic one, and no end of graphs with fixed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from accelplug.errors import CompileRefusedError

if TYPE_CHECKING:
    import torch


def refuse_symbolic(graph: torch.fx.GraphModule, example_inputs: Sequence[Any], device_type: str) -> None:
    """Raises CompileRefusedError, with the inputs' names, where ``graph`` has inputs of symbolic shape."""
    symbolic = [f"{name} {_text(value)}" for name, value in _inputs(graph, example_inputs) if _is_symbolic(value)]
    if symbolic:
        raise CompileRefusedError(
            f"{device_type} compiles static shapes only, and the graph has symbolic ones: {', '.join(symbolic)}. "
            "Use accelplug.compile(model), or pass dynamic=False to torch.compile: then each new shape is compiled "
            "anew, up to torch._dynamo.config.recompile_limit; accelplug.compile(model, buckets=...) pads to a few"
        )


class Limited:
    """A Dynamo backend that compiles a function up to ``limit`` times, and refuses the next one.

    torch has the same limit, and runs the function eagerly past it, with a warning. Each ``accelplug.compile`` has one
    of these, and so counts by itself.
    """

    def __init__(self, backend: Callable[..., Any], name: str, device_type: str, limit: int) -> None:
        self.__name__ = name
        self._backend = backend
        self._device_type = device_type
        self._limit = limit
        # The shapes of the inputs, by Dynamo's numbers of the function and the compilation
        self._compiled: dict[int | None, dict[int | None, dict[str, str]]] = {}

    def __call__(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any], **given: Any) -> Any:
        """Raises CompileRefusedError past the limit, with the shapes that there are graphs for."""
        from torch._dynamo.convert_frame import FRAME_COMPILE_COUNTER
        from torch._guards import CompileContext

        number = CompileContext.current_compile_id()
        function, compilation = (number.frame_id, number.frame_compile_id) if number else (None, None)
        before = self._compiled.setdefault(function, {})
        shapes = {name: _text(value) for name, value in _inputs(graph, example_inputs)}
        if compilation not in before and len(before) >= self._limit:
            if function is not None:
                FRAME_COMPILE_COUNTER[function] -= 1  # after so many tries torch would go on eagerly
            raise CompileRefusedError(self._past_the_limit(shapes, [*before.values()]))
        compiled = self._backend(graph, example_inputs, **given)
        before[compilation] = shapes
        return compiled

    def reset(self) -> None:
        """Forgets the graphs, as ``torch._dynamo.reset`` has."""
        self._compiled.clear()

    def _past_the_limit(self, shapes: dict[str, str], before: Sequence[dict[str, str]]) -> str:
        differ = [name for name, shape in shapes.items() if any(other.get(name) != shape for other in before)]
        if not differ:
            return (
                f"a function was compiled {self._limit} times for {self._device_type}, the limit, and would be again "
                "with the same shapes: something else changes from call to call, TORCH_LOGS=recompiles says what"
            )

        def told(inputs: dict[str, str]) -> str:
            return ", ".join(f"{name} {inputs.get(name, 'missing')}" for name in differ)

        return (
            f"{self._device_type} compiles each shape anew, and a function was compiled {self._limit} times, the "
            f"limit: for {'; '.join(map(told, before))}. Now it has {told(shapes)}. Pad to a few shapes "
            "with accelplug.compile(model, buckets=...), or allow more: "
            f"accelplug.compile(model, recompile_limit={2 * self._limit})"
        )


def _inputs(graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Names and values of the inputs. Dynamo's examples are real tensors, what it traced with says what is symbolic."""
    nodes = [node for node in graph.graph.nodes if node.op == "placeholder"]
    for node, example in zip(nodes, example_inputs, strict=True):
        yield node.name, node.meta.get("example_value", example)


def _is_symbolic(value: object) -> bool:
    import torch

    sizes = value.shape if isinstance(value, torch.Tensor) else (value,)
    return any(isinstance(size, torch.SymInt) for size in sizes)


def _text(value: object) -> str:
    """A tensor's shape, such as ``(2, 16)``; a number as it is."""
    import torch

    return str(tuple(value.shape)) if isinstance(value, torch.Tensor) else str(value)
