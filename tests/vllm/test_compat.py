"""Everything of vLLM and torch that the adapter depends on is there, is listed, and is still needed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import accelplug_vllm
import pytest
from accelplug_vllm.compat import PARTS, Part, Source, installed
from accelplug_vllm.compat.workarounds import WORKAROUNDS, Workaround
from skewed_vllm import skewed

from accelplug.specs import Host

ADAPTER = Path(accelplug_vllm.__file__).parent
# Tests of vLLM's and of devices, which find out for themselves.
UNLISTED = ("upstream", "conformance")


@pytest.fixture(scope="module")
def source() -> Source:
    return installed.on(Host())


@pytest.mark.parametrize("workaround", WORKAROUNDS, ids=lambda workaround: workaround.name)
@pytest.mark.xfail(strict=True, reason="vLLM still needs it; where this passes, the code that works around it can go")
def test_vllm_does_without_the_workaround(workaround: Workaround, source: Source) -> None:
    assert not workaround.needed(source), workaround.why


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_the_installed_vllm_has_all_that_a_part_needs(part: Part, source: Source) -> None:
    assert part.missing(source) == ""


def taken_from_vllm() -> Iterator[str]:
    """What the adapter imports from vLLM."""
    for path in sorted(ADAPTER.rglob("*.py")):
        if path.relative_to(ADAPTER).parts[0] in UNLISTED:
            continue
        tree = ast.parse(path.read_text())
        unseen = {n for i in ast.walk(tree) if _for_type_checkers(i) for n in ast.walk(i)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "vllm" and node not in unseen:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def test_all_that_the_adapter_imports_from_vllm_is_a_seam() -> None:
    listed = [name for part in PARTS for seam in part.seams for name in seam.names]
    words = [name.replace(":", ".").split(".") for name in listed]
    known = {".".join(each[:count]) for each in words for count in range(1, len(each) + 1)}
    known.add("vllm.platforms.current_platform")  # a module's __getattr__ has it
    unlisted = {name for name in taken_from_vllm() if name not in known}
    assert not unlisted, f"no part in accelplug_vllm.compat needs {', '.join(sorted(unlisted))}"


def test_a_name_is_found_where_it_is_defined_and_only_there(tmp_path: Path) -> None:
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("from .deep import Base as Renamed\nfrom . import other, around\n")
    (package / "around.py").write_text("from pack import around, elsewhere\n")
    (package / "broken.py").write_text("def\n")
    (package / "deep.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from x import Unseen\n"
        "try:\n    from gone import maybe\nexcept ImportError:\n    maybe = None\n"
        "class Base:\n    field: int = 1\n    def method(self, one, *, two=2): self.late = one\n"
    )
    (package / "other.py").write_text("import pack\nclass Child(pack.Renamed):\n    def own(self, **more): ...\n")
    source = Source([tmp_path])

    def has(name: str) -> bool:
        return source.find(name) is not None

    assert has("pack.deep")
    assert has("pack:Renamed.method")
    assert has("pack.other:Child.method"), "through base classes"
    assert has("pack.other:Child.late"), "what a method sets"
    assert has("pack.deep:Base.field")
    assert has("pack.deep:maybe"), "under a condition"
    assert has("pack:deep"), "a module in a package"
    assert has("pack:other.Child"), "a module that its package imports"
    assert not has("pack.around:elsewhere"), "which nobody has, going round in circles"
    assert not has("pack.broken"), "nobody could import it"
    assert not has("pack.deep:Unseen"), "only type checkers see it"
    assert not has("pack.deep:Base.gone")
    assert not has("pack.nowhere")
    found = source.find("pack.other:Child.method")
    assert found is not None
    assert found.parameters == ("self", "one", "two")
    assert "self.late = one" in found.text


def test_a_seam_that_is_called_otherwise_takes_its_part_away_and_is_named(source: Source, tmp_path: Path) -> None:
    """One of each part, which is called otherwise in all of vLLM."""
    renamed = {part: name for part in PARTS if (name := _last_name(part))}
    changed = Source([skewed(tmp_path, renamed.values()), *source.folders])
    for part in renamed:
        missing = part.missing(changed)
        assert any(missing.endswith(name) for name in renamed.values()), f"{part.name}: {missing}"


def _last_name(part: Part) -> str:
    """The last of its names in vLLM that is one of a class or module; "" where it needs texts only."""
    named = [seam.names[0] for seam in part.seams if len(seam.names) == 1 and not seam.says]
    return next((re.split("[.:]", name)[-1] for name in reversed(named) if re.match("vllm.*:", name)), "")
