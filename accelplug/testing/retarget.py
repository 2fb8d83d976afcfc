"""Turns a test file that was written for CUDA to another device, as a syntax tree; the file stays as it is.

The whole rule, for a device "neuron":

* the texts "cuda" and "cuda:0" become "neuron" and "neuron:0", also in lists, and f"cuda:{i}" becomes f"neuron:{i}";
* ``torch.cuda`` becomes ``torch.neuron``;
* ``x.cuda()`` becomes ``x.to("neuron")``;
* what the selection lists: names get another value, calls are dropped, missing attributes are None.

What it can't see stays: a device's name that is put together otherwise, or ``current_platform.is_cuda()``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from accelplug.errors import BadInputError

CUDA = "cuda"


@dataclass(frozen=True)
class Rules:
    """What to do to one file. ``rebound`` are statements by the name that they give another value."""

    device: str
    drop_calls: frozenset[str] = frozenset()
    optional_names: frozenset[str] = frozenset()
    rebound: Mapping[str, str] = field(default_factory=dict)


def retarget(module: ast.Module, rules: Rules) -> ast.Module:
    """``module``, changed in place. Raises BadInputError where it has not one of the names that get another value."""
    missing, body = dict(rules.rebound), []
    for statement in module.body:
        body.append(statement)
        for name in sorted(_bound(statement) & missing.keys()):
            body += [ast.copy_location(again, statement) for again in ast.parse(missing.pop(name)).body]
    if missing:
        raise BadInputError(f"the file has no {', '.join(sorted(missing))} any more: its entry is out of date")
    module.body = body
    _Retarget(rules).visit(module)
    return ast.fix_missing_locations(module)


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement of a module gives a value: an assignment, an import, a function or a class."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name for alias in statement.names}
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Assign):
        return {target.id for target in statement.targets if isinstance(target, ast.Name)}
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return {statement.target.id}
    return set()


def _dotted(node: ast.expr) -> str:
    """``"torch.ops._C"`` of such an expression; "" of any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := _dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


class _Retarget(ast.NodeTransformer):
    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if isinstance(node.value, str) and re.fullmatch(rf"{CUDA}(:\d+)?", node.value):
            node.value = node.value.replace(CUDA, self._rules.device, 1)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        first = node.values[0] if node.values else None
        if isinstance(first, ast.Constant) and str(first.value) == f"{CUDA}:":
            first.value = f"{self._rules.device}:"
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if _dotted(node) == f"torch.{CUDA}":
            node.attr = self._rules.device
        elif isinstance(node.ctx, ast.Load) and _dotted(node.value) in self._rules.optional_names:
            name, nothing = ast.Constant(node.attr), ast.Constant(None)
            return ast.copy_location(ast.Call(ast.Name("getattr", ast.Load()), [node.value, name, nothing], []), node)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == CUDA and not node.args:
            function.attr = "to"
            node.args = [ast.Constant(self._rules.device)]
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Call) and _dotted(node.value.func) in self._rules.drop_calls:
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)
