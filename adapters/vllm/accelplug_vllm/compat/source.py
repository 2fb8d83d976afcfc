"""Names in the source of a package, found without importing it: what there is, what it takes, what it says.

A version of vLLM that isn't installed can be looked at, and one that is before its modules can be imported. Names are
followed through what modules import from each other and through base classes, as far as the source says.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Found:
    """What stands where a name is defined. ``parameters`` are a function's, "*" and "**" where it takes any."""

    text: str
    parameters: tuple[str, ...] = ()


class Source:
    """The packages in ``folders``; of one that is there twice, the first counts, as on Python's path.

    ``read`` is what the answers so far depend on: the `digest` of each file, None of one that isn't there.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(folders)
        self.read: dict[Path, str | None] = {}
        self._modules: dict[str, _Module | None] = {}
        self._members: dict[ast.ClassDef, dict[str, ast.stmt]] = {}  # what stands in each class itself
        self._looking: set[tuple[str, str]] = set()  # for what: modules may import from each other

    def find(self, at: str) -> Found | None:
        """What ``package.module:Class.method`` is, or ``package.module``; None where there is no such name."""
        module, _, path = at.partition(":")
        place: _Place | None = self._module(module)
        for name in path.split(".") if path else ():
            place = place and self._member(place, name)
        return place.found() if place else None

    def _module(self, name: str) -> _Module | None:
        if name not in self._modules:
            path = self._path(name)
            self._modules[name] = self._parsed(name, path) if path else None
        return self._modules[name]

    def _parsed(self, name: str, path: Path) -> _Module | None:
        """None for what is no Python; nobody could import it either."""
        text = _text(path)
        self.read[path] = _digest(text)
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            return None
        return _Module(name, name if path.stem == "__init__" else name.rpartition(".")[0], text, tree)

    def _path(self, name: str) -> Path | None:
        for folder in self.folders:
            place = folder.joinpath(*name.split("."))
            for path in (place / "__init__.py", place.with_suffix(".py"), place / "__init__.pyi"):
                if path.is_file():
                    return path
                self.read[path] = None
        return None

    def _member(self, of: _Place, name: str) -> _Place | None:
        if isinstance(of, _Module):
            return self._of_module(of, name)
        return self._of_class(of, name) if isinstance(of.node, ast.ClassDef) else None

    def _of_module(self, module: _Module, name: str) -> _Place | None:
        if (module.name, name) in self._looking:
            return None
        self._looking.add((module.name, name))
        try:
            return self._in_statements(module, name) or self._module(f"{module.name}.{name}")
        finally:
            self._looking.discard((module.name, name))

    def _in_statements(self, module: _Module, name: str) -> _Place | None:
        for node in _statements(module.node.body):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return self._imported(module, node, alias.name)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if (alias.asname or alias.name.partition(".")[0]) == name:
                        return self._module(alias.name if alias.asname else name) or _Place(module, node)
            elif name in _defined(node):
                return _Place(module, node)
        return None

    def _imported(self, module: _Module, node: ast.ImportFrom, name: str) -> _Place | None:
        """What a module takes from another; a name from elsewhere than ``folders`` is only known to be there."""
        base = module.package.split(".")[: len(module.package.split(".")) - node.level + 1] if node.level else []
        origin = ".".join([*base, *([node.module] if node.module else [])])
        there = self._module(origin)
        if there is not None:
            return self._of_module(there, name)
        return _Place(module, node) if self._module(origin.partition(".")[0]) is None else None

    def _of_class(self, place: _Place, name: str) -> _Place | None:
        assert isinstance(place.node, ast.ClassDef)
        if place.node not in self._members:
            self._members[place.node] = _members(place.node)
        if (node := self._members[place.node].get(name)) is not None:
            return _Place(place.module, node)
        for base in place.node.bases:
            parent = self._base(place.module, base)
            if parent is not None and isinstance(parent.node, ast.ClassDef) and (there := self._of_class(parent, name)):
                return there
        return None

    def _base(self, module: _Module, base: ast.expr) -> _Place | None:
        if isinstance(base, ast.Subscript):
            base = base.value
        parts = ast.unparse(base).split(".")
        found: _Place | None = module
        for part in parts:
            found = found and self._member(found, part)
        return found


class _Place:
    """A node, and the module that it is in."""

    def __init__(self, module: _Module, node: ast.AST) -> None:
        self.module = module
        self.node = node

    def found(self) -> Found:
        first, last = getattr(self.node, "lineno", 1), getattr(self.node, "end_lineno", None)
        return Found("\n".join(self.module.lines[first - 1 : last]), tuple(_parameters(self.node)))


class _Module(_Place):
    """A module itself. ``package`` is what its relative imports start from."""

    node: ast.Module

    def __init__(self, name: str, package: str, text: str, node: ast.Module) -> None:
        super().__init__(self, node)
        self.name = name
        self.package = package
        self.lines = text.split("\n")


def digest(path: Path) -> str | None:
    """Of what a file says; None where there is no such file."""
    return _digest(_text(path)) if path.is_file() else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Also those under conditions, as in ``try: import``; without what only type checkers see."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _statements(node.orelse)
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            for part in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(node, part, ()))
            for handler in getattr(node, "handlers", ()):
                yield from _statements(handler.body)


def _members(of: ast.ClassDef) -> dict[str, ast.stmt]:
    """The first statement for each name, be it defined in the class or set by a method."""
    found: dict[str, ast.stmt] = {}
    for node in _statements(of.body):
        for name in _defined(node) | _set_on_self(node):
            found.setdefault(name, node)
    return found


def _defined(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}


def _set_on_self(node: ast.stmt) -> set[str]:
    """The attributes that a method gives its object."""
    if not isinstance(node, ast.FunctionDef):
        return set()
    return {
        each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute)
        and isinstance(each.ctx, ast.Store)
        and isinstance(each.value, ast.Name)
        and each.value.id == "self"
    }


def _parameters(node: ast.AST) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        given = node.args
        yield from (each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs))
        yield from ("*",) if given.vararg else ()
        yield from ("**",) if given.kwarg else ()
