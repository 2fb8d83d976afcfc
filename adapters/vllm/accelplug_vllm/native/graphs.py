"""The graphs of a model, one for each piece of it and each size: compiled when they first run, in warm-up.

vLLM takes a model apart at its attention layers, so that its graphs depend on the number of tokens alone, and pads that
to a bucket. Layers that are alike share what was compiled.
"""

from __future__ import annotations

import copy
import functools
import logging
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal

import torch
from torch._guards import TracingContext, tracing
from torch._subclasses import FakeTensorMode
from torch.fx import Graph, GraphModule, Node, map_arg
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from accelplug import compiling
from accelplug.buckets import Ladder, Usage
from accelplug.errors import ShapeRefusedError
from accelplug_vllm.native.counting import MODEL

log = logging.getLogger("vllm.accelplug")

Compiled = Callable[..., Any]


class Graphs:
    """What this process has compiled. ``seconds`` is what each size took so far, all pieces together."""

    def __init__(self, usage: Usage) -> None:
        self.seconds: dict[int, float] = {}
        self._usage = usage
        self._mode: Literal["error", "warn"] | None = None  # None: warming up
        self._tokens: Ladder | None = None
        self._made: dict[Hashable, Compiled] = {}
        self._lock = threading.Lock()

    def warmed_up(self, tokens: Ladder, mode: Literal["error", "warn"]) -> None:
        """From now on a graph that isn't there is an error that names the sizes there are, or a warning."""
        self._tokens, self._mode = tokens, mode

    def compiled(self, graph: GraphModule, size: int, inputs: Sequence[Any]) -> Compiled:
        """``graph`` for inputs like these, which are real ones; ``size`` is the number of tokens in them.

        What is returned takes the tensors of its inputs. Raises ShapeRefusedError after warm-up, where that is so.
        """
        key = (_outline(graph), tuple(map(_described, inputs)))
        with self._lock:
            if key not in self._made:
                self._allow(size)
                began = time.monotonic()
                self._made[key] = _compile(graph, inputs)
                self.seconds[size] = self.seconds.get(size, 0.0) + time.monotonic() - began
                self._usage.compiled(in_service=self._mode is not None)
            return self._made[key]

    def _allow(self, size: int) -> None:
        if self._mode == "error":
            raise ShapeRefusedError(
                f"tokens={size} would have to be compiled in service, as nobody has warmed it up; there are tokens: "
                f"{self._tokens}"
            )
        if self._mode == "warn":
            log.warning("accelplug: compiling in service, for tokens=%d, which was not warmed up", size)


@functools.cache
def current() -> Graphs:
    """Those of this process."""
    return Graphs(MODEL)


class Piece:
    """One piece of a model, as vLLM calls it: with numbers among its inputs where a size is needed."""

    def __init__(self, graphs: Graphs, graph: GraphModule) -> None:
        self._graphs = graphs
        self._graph = graph
        self._sizes = [n for n, node in enumerate(_inputs(graph)) if isinstance(_example(node), (int, torch.SymInt))]
        self._made: dict[tuple[int, ...], Compiled] = {}

    def __call__(self, *args: Any) -> Any:
        sizes = tuple(args[n] for n in self._sizes)
        tensors = [arg for n, arg in enumerate(args) if n not in self._sizes]
        if sizes not in self._made:
            numbers = dict(zip(self._sizes, sizes, strict=True))
            self._made[sizes] = self._graphs.compiled(_static(self._graph, numbers), max(sizes, default=0), tensors)
        return self._made[sizes](*tensors)


def _static(graph: GraphModule, numbers: dict[int, int]) -> GraphModule:
    """A copy with ``numbers``, by the position of the input, in the place of its inputs that are sizes."""
    fixed = copy.deepcopy(graph)
    values = {node: numbers[n] for n, node in enumerate(_inputs(fixed)) if n in numbers}

    def value(node: Node) -> Any:
        return values.get(node, node)

    for node in fixed.graph.nodes:
        node.meta = {}  # the shapes that it was traced with are symbolic
        node.args, node.kwargs = map_arg(node.args, value), map_arg(node.kwargs, value)
    for node in values:
        fixed.graph.erase_node(node)
    fixed.recompile()
    return fixed


def _compile(graph: GraphModule, inputs: Sequence[Any]) -> Compiled:
    """Through the device's compiler. torch caches only what is traced, hence the context."""
    mode = FakeTensorMode(shape_env=ShapeEnv())
    with torch.inference_mode(False), torch.no_grad(), tracing(TracingContext(mode)):
        fakes = [mode.from_tensor(x, static_shapes=True) if isinstance(x, torch.Tensor) else x for x in inputs]
        compiled: Compiled = compiling.backend(graph, fakes)
    return compiled


def _outline(graph: GraphModule) -> Hashable:
    """Equal for graphs that compute the same, whatever their inputs are called; for none where one keeps constants."""
    if any(node.op in ("get_attr", "call_module") for node in graph.graph.nodes):
        return object()
    return _numbered(graph.graph)


def _numbered(graph: Graph) -> Hashable:
    number = {node: n for n, node in enumerate(graph.nodes)}

    def outline(node: Node) -> Hashable:
        target = "" if node.op in ("placeholder", "output") else str(node.target)
        arguments = map_arg((node.args, node.kwargs), lambda other: _Nth(number[other]))
        return node.op, target, repr(arguments)

    return tuple(map(outline, graph.nodes))


class _Nth(int):
    """A node, by its place in the graph."""

    def __repr__(self) -> str:
        return f"%{int(self)}"


def _inputs(graph: GraphModule) -> list[Node]:
    found: list[Node] = graph.graph.find_nodes(op="placeholder")
    return found


def _example(node: Node) -> Any:
    return node.meta.get("example_value")


def _described(value: Any) -> Hashable:
    if isinstance(value, torch.Tensor):
        return tuple(value.shape), value.stride(), value.dtype, value.device
    return repr(value)
