"""The library is built once for each torch, whoever asks at the same time, and a failure says what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from accelplug.native import BuildError
from accelplug.sim import build

BUILD = "from accelplug.sim import build; print(build.library())"


@pytest.fixture(autouse=True)
def _not_built_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has not asked for the library."""
    monkeypatch.setattr(build.SIMULATOR, "_path", None)


def compiler(folder: Path, body: str) -> str:
    """A compiler that notes each call in ``folder``/calls, then runs ``body``."""
    script = folder / "compiler"
    script.write_text(f'#!/bin/sh\necho "$@" >> {folder}/calls\n{body}\n')
    script.chmod(0o755)
    return str(script)


# It takes a moment, in which the others ask too.
WRITES_ITS_OUTPUT = 'sleep 0.2; while [ "$1" != -o ]; do shift; done; echo built > "$2"'


def run(folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BUILD],
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_processes_that_ask_at_once_build_it_once_and_one_says_so(tmp_path: Path) -> None:
    with ThreadPoolExecutor() as pool:
        cxx = compiler(tmp_path, WRITES_ITS_OUTPUT)
        done = [*pool.map(lambda _: run(tmp_path, CXX=cxx), range(3))]

    (path,) = {each.stdout.strip() for each in done}
    assert Path(path).read_text() == "built\n"
    assert len((tmp_path / "calls").read_text().splitlines()) == build.UNITS + 1
    assert sorted(len(each.stderr.splitlines()) for each in done) == [0, 0, 1]
    assert "building the simulator for torch" in "".join(each.stderr for each in done)


AUTO = """
import accelplug
try:
    accelplug.auto()
except accelplug.AccelplugError as error:
    print(type(error).__name__, error)
import torch
print(torch._C._get_privateuse1_backend_name())
"""


def test_without_a_compiler_no_device_is_made_live_and_pytorch_is_as_it_was(
    tmp_path: Path, python: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    said, name = python(
        AUTO, ACCELPLUG_SIMULATE="neuron", XDG_CACHE_HOME=str(tmp_path), CXX="no-such-compiler"
    ).stdout.splitlines()
    assert said.startswith("ActivationError neuron could not be made live: BuildError: the simulator is a C++ library")
    assert "looked for CXX='no-such-compiler'" in said
    assert name == "privateuseone"


def test_without_a_compiler_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(BuildError, match=r"no C\+\+ compiler here.*c\+\+, g\+\+, clang\+\+.*apt install g\+\+"):
        build.library()


def test_a_compiler_that_fails_is_quoted_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CXX", compiler(tmp_path, "echo fatal error: no such header; exit 4"))
    with pytest.raises(BuildError, match=r"ended with code 4(.|\n)*fatal error: no such header"):
        build.library()
    assert not [*(tmp_path / "cache").rglob("*.so"), *(tmp_path / "cache").rglob("*.o")]


def test_a_library_that_the_wheel_carries_is_taken_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carried = tmp_path / f"{build.SIMULATOR.key()}.so"
    carried.touch()
    monkeypatch.setattr(build.SIMULATOR, "prebuilt", tmp_path)
    monkeypatch.setenv("PATH", "")
    assert build.library() == carried
