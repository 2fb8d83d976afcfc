"""What compiled graphs take for granted about their inputs, and callers don't always give them.

Two things that no guard of torch's looks at (torch 2.13): where in its memory an input starts, and whether two inputs
share memory that the graph writes to. A graph that was compiled without either gives silently wrong numbers with it.
Both are seen to here, below AOTAutograd, where forward and backward graphs arrive with their mutations written out.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._C._dynamo.guards import compute_overlapping_tensors
from torch._inductor.codecache import FxGraphCache
from torch._inductor.output_code import OutputCode
from torch.utils._pytree import tree_leaves

from accelplug.errors import CompileRefusedError

aten = torch.ops.aten
_RESTRIDED = (aten.as_strided.default, aten.as_strided_copy.default, aten.as_strided_scatter.default)


def checked(inner_compile: Callable[..., Any], *, from_the_start: bool) -> Callable[..., Any]:
    """An ``inner_compile`` for ``torch._inductor.compile_fx.compile_fx`` whose graphs check their inputs.

    Inputs that share memory which the graph writes to are refused, with CompileRefusedError. With ``from_the_start``
    an input that begins in the middle of its memory is copied to memory of its own first, and copied back where the
    graph writes to it: `Constraints.clone_offset`.
    """
    return functools.partial(_compile, inner_compile, from_the_start)


def _compile(
    inner_compile: Callable[..., Any], from_the_start: bool, graph: torch.fx.GraphModule, inputs: Any, **given: Any
) -> Any:
    placeholders = graph.graph.find_nodes(op="placeholder")
    checks = Checks(from_the_start, _written(graph, placeholders), _restrided(graph, placeholders))
    code = inner_compile(graph, inputs, **given)  # which may change the graph
    return _with(checks, code, inputs) if from_the_start or checks.written else code


def _written(graph: torch.fx.GraphModule, placeholders: Sequence[torch.fx.Node]) -> frozenset[int]:
    """The numbers of the inputs that the graph writes to."""
    found = set()
    for node in graph.graph.nodes:
        if node.op != "call_function" or not getattr(getattr(node.target, "_schema", None), "is_mutable", False):
            continue
        for number, argument in enumerate(node.target._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                value = node.args[number] if number < len(node.args) else node.kwargs.get(argument.name)
                found |= {placeholders.index(leaf) for leaf in tree_leaves(value) if leaf in placeholders}
    return frozenset(found)


def _restrided(graph: torch.fx.GraphModule, placeholders: Sequence[torch.fx.Node]) -> frozenset[int]:
    """The numbers of the inputs whose memory the graph addresses by offsets from its start."""
    found = set()
    for node in graph.graph.nodes:
        if node.target in _RESTRIDED:
            while node.args and isinstance(node.args[0], torch.fx.Node):
                node = node.args[0]
            if node in placeholders:
                found.add(placeholders.index(node))
    return frozenset(found)


@dataclass(frozen=True)
class Checks:
    """What is done about a graph's inputs before it runs, and after.

    ``written`` are the numbers of the inputs that the graph writes to, ``restrided`` of those whose memory it addresses
    from the start.
    """

    from_the_start: bool
    written: frozenset[int]
    restrided: frozenset[int]

    def run(self, code: Callable[[list[Any]], Any], inputs: list[Any]) -> Any:
        """Runs ``code`` on inputs that it can take. Raises CompileRefusedError where they can't be made such."""
        if self.written:
            self._refuse_shared(inputs)
        if not self.from_the_start:
            return code(inputs)
        changed = []
        for number, given in enumerate(inputs):
            if isinstance(given, torch.Tensor) and given.storage_offset():
                inputs[number] = self._copied(number, given)
                if number in self.written:
                    changed.append((given, inputs[number]))
        results = code(inputs)
        for given, fresh in changed:
            _copy(given, fresh)
        return results

    def _copied(self, number: int, given: torch.Tensor) -> torch.Tensor:
        if number in self.restrided:
            raise CompileRefusedError(
                f"input {number} of a graph on {given.device} starts at element {given.storage_offset()} of its "
                "memory, where compiled graphs can't take it up, and the graph addresses that memory from its start "
                "(as_strided): pass a .clone() of the tensor"
            )
        fresh = torch.empty_strided(given.size(), given.stride(), dtype=given.dtype, device=given.device)
        _copy(fresh, given)
        return fresh

    def _refuse_shared(self, inputs: Sequence[Any]) -> None:
        """Raises CompileRefusedError where an input that is written to shares elements with another one."""
        memory: dict[int, list[int]] = {}
        for number, value in enumerate(inputs):
            if isinstance(value, torch.Tensor):
                memory.setdefault(value.untyped_storage()._cdata, []).append(number)
        for numbers in memory.values():
            if len(numbers) == 1 or self.written.isdisjoint(numbers):
                continue
            shared = [numbers[n] for n in compute_overlapping_tensors([inputs[n] for n in numbers], symbolic=False)]
            if not self.written.isdisjoint(shared):
                raise CompileRefusedError(
                    f"inputs {', '.join(map(str, sorted(shared)))} of a graph on {inputs[shared[0]].device} share "
                    "memory, and the graph writes to it; it was compiled for inputs that don't: pass a .clone() of all "
                    "but one"
                )


def _copy(target: torch.Tensor, source: torch.Tensor) -> None:
    """Copies between tensors of the same strides, where elements of each may share a place in memory."""
    for dimension, (size, stride) in enumerate(zip(source.size(), source.stride(), strict=True)):
        if stride == 0 and size > 1:  # an expanded dimension: copy_ refuses to write to it
            target, source = target.narrow(dimension, 0, 1), source.narrow(dimension, 0, 1)
    with torch.no_grad():
        target.copy_(source)


class _Checked:
    """Mixed into the class of compiled code, ``base``."""

    base: type
    checks: Checks

    def __call__(self, inputs: list[Any]) -> Any:
        return self.checks.run(super().__call__, inputs)  # type: ignore[misc]

    def __reduce_ex__(self, protocol: object) -> Any:
        return _rebuilt, (self.base, self.__dict__)


@functools.cache
def _checked_class(base: Any) -> type:
    return type(f"Checked{base.__name__}", (_Checked, base), {"base": base})


def _rebuilt(base: type, state: dict[str, Any]) -> Any:
    code: Any = object.__new__(_checked_class(base))
    code.__dict__.update(state)
    return code


def _with(checks: Checks, code: Any, example_inputs: Sequence[Any]) -> Any:
    """``code`` with the checks; changed in place, as it was made for this graph alone.

    torch's AOTAutograd cache refers to code by its key in the FX graph cache. There it gets an entry of its own, as the
    one under the old key has no checks.
    """
    if not isinstance(code, OutputCode):  # a graph without an operator is a function
        return _boxed(checks, code)
    code.__class__ = _checked_class(code.__class__)
    code.checks = checks
    if code._fx_graph_cache_key is not None:  # None where caches are off, or don't take this graph
        parts = (
            f"{code._fx_graph_cache_key} {getattr(code, 'guards_expr', None)} {checks.from_the_start} "
            f"{sorted(checks.written)} {sorted(checks.restrided)}"
        )
        key = code._fx_graph_cache_key = f"f{hashlib.sha256(f'accelplug inputs {parts}'.encode()).hexdigest()}"
        if not os.path.isdir(FxGraphCache._get_tmp_dir_for_key(key)):
            FxGraphCache._save_graph(key, code, example_inputs, local=True, remote_cache=None)
    return code


def _boxed(checks: Checks, code: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    def run(inputs: list[Any]) -> Any:
        return checks.run(code, inputs)

    run._boxed_call = True  # type: ignore[attr-defined]
    return run
