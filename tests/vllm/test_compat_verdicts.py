"""What the installed vLLM has is looked up once, and anew as soon as anything that was read for it is another."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from accelplug_vllm.compat import PARTS, Part, Source, installed, verdicts
from accelplug_vllm.compat.seam import of, seam

BASE = Part("base", "nothing", (*of("pack.child:Child", "given"), seam("pack:new", before="pack:old")))
OTHER = Part("other", "nothing", of("pack.late", "name"))


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    package = tmp_path / "packages" / "pack"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("old = 1\n")
    (package / "child.py").write_text("from pack.parent import Parent\nclass Child(Parent): ...\n")
    (package / "parent.py").write_text("class Parent:\n    given = 1\n")
    return package


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The parts that were looked up, not taken from the cache."""
    found: list[str] = []
    look = Part.missing

    def missing(part: Part, source: Source) -> str:
        found.append(part.name)
        return look(part, source)

    monkeypatch.setattr(Part, "missing", missing)
    return found


def ask(packages: Path, *parts: Part) -> dict[str, str]:
    """As a process that has just started."""
    return dict(verdicts.missing(parts or (BASE,), Source([packages.parent])))


def kept(packages: Path) -> Path:
    (path,) = (packages.parents[1] / "cache").rglob("compat/*.json")
    return path


def test_it_is_looked_up_once(packages: Path, looked: list[str]) -> None:
    assert ask(packages) == ask(packages) == {"base": ""}
    assert looked == ["base"]


def test_a_changed_file_of_the_same_size_and_time_is_noticed(packages: Path, looked: list[str]) -> None:
    assert ask(packages) == {"base": ""}
    parent = packages / "parent.py"
    times = parent.stat()
    parent.write_text(parent.read_text().replace("given", "taken"))
    os.utime(parent, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert parent.stat().st_size == times.st_size
    assert ask(packages) == {"base": "there is no pack.child:Child.given"}, "through a base class"
    assert looked == ["base", "base"]


@pytest.mark.parametrize("name", ["child.py", "parent.py", "__init__.py"])
def test_a_file_that_is_gone_is_noticed(name: str, packages: Path) -> None:
    assert ask(packages) == {"base": ""}
    (packages / name).unlink()
    assert ask(packages)["base"].startswith("there is no ")


def test_a_file_that_comes_is_noticed(packages: Path) -> None:
    assert ask(packages, OTHER) == {"other": "there is no pack.late:name"}
    (packages / "late.py").write_text("name = 1\n")
    assert ask(packages, OTHER) == {"other": ""}


def test_a_file_that_comes_before_another_one_is_noticed(packages: Path) -> None:
    assert ask(packages) == {"base": ""}
    (packages / "parent").mkdir()
    (packages / "parent" / "__init__.py").write_text("class Parent: ...\n")
    assert ask(packages) == {"base": "there is no pack.child:Child.given"}


def test_another_question_is_looked_up(packages: Path, looked: list[str]) -> None:
    ask(packages)
    assert ask(packages, Part("base", "nothing", of("pack", "gone"))) == {"base": "there is no pack:gone"}
    assert ask(packages, BASE, OTHER).keys() == {"base", "other"}
    assert looked == ["base", "base", "base", "other"]


def test_another_code_or_python_is_another_question(monkeypatch: pytest.MonkeyPatch) -> None:
    before = verdicts._question((BASE,))
    with monkeypatch.context() as patched:
        patched.setattr("inspect.getsource", lambda module: "other code")
        assert verdicts._question((BASE,)) != before
    monkeypatch.setattr("sys.version", "3.99")
    assert verdicts._question((BASE,)) != before


@pytest.mark.parametrize("contents", ["", "{", '{"question": "x"}', "[1]", "\0"])
def test_a_broken_file_is_said_and_made_anew(
    contents: str, packages: Path, looked: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    ask(packages)
    kept(packages).write_text(contents)
    assert ask(packages) == {"base": ""}
    (record,) = caplog.records
    assert re.search(r"compat/\w+\.json can't be read and is made anew: ", record.getMessage())
    assert ask(packages) == {"base": ""}
    assert looked == ["base", "base"]


def test_a_cache_that_cannot_be_written_is_said_and_stops_nothing(
    packages: Path, looked: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(packages / "child.py"))
    assert ask(packages) == {"base": ""}
    assert "can't be kept: " in caplog.text
    assert looked == ["base"]


def test_all_that_was_read_of_the_installed_vllm_and_torch_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looked: list[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = verdicts.missing(PARTS, installed._source())
    assert set(first.values()) == {""}
    (path,) = tmp_path.rglob("compat/*.json")
    read = verdicts.Verdicts.model_validate_json(path.read_bytes()).read
    there = {name for name, digest in read.items() if digest}
    for end in ("vllm/platforms/interface.py", "vllm/v1/worker/gpu_model_runner.py", "torch/_C/__init__.pyi"):
        assert any(name.endswith(end) for name in there), end
    assert verdicts.missing(PARTS, installed._source()) == first
    assert len(looked) == len(PARTS)
