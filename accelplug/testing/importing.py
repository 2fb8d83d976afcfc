"""Imports the modules under a folder through `retarget`. Nothing is written: neither sources nor bytecode."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

# pytest has no public name for it. It is what makes a failing assert say what it compared.
from _pytest.assertion.rewrite import rewrite_asserts

from accelplug.testing.retarget import Rules, retarget


class RetargetingFinder(MetaPathFinder):
    """``rules(file)`` are those of a file, whose path is relative to ``root``: "tests/ir/test_op.py"."""

    def __init__(self, root: Path, rules: Callable[[str], Rules]) -> None:
        self._root = root.resolve()
        self._rules = rules

    def install(self) -> None:
        """Ahead of pytest's own, which would compile test files itself."""
        sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or not isinstance(spec.loader, SourceFileLoader):
            return None
        file = Path(spec.origin).resolve()
        if not file.is_relative_to(self._root):
            return None
        rules = self._rules(file.relative_to(self._root).as_posix())
        spec.loader = _RetargetingLoader(fullname, str(file), rules)
        return spec


class _RetargetingLoader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, rules: Rules) -> None:
        super().__init__(fullname, path)
        self._retarget_rules = rules

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
        module = retarget(ast.parse(data, filename=path), self._retarget_rules)
        rewrite_asserts(module, data)
        code: CodeType = compile(module, path, "exec", dont_inherit=True, optimize=_optimize)
        return code
