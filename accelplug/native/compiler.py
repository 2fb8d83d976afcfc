"""Runs the C++ compiler over a folder of sources that use libtorch."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from accelplug.errors import AccelplugError

PROFILER = ("-DUSE_KINETO", "-DKINETO_NAMESPACE=libkineto")  # as PyTorch is built, which its profiler's headers ask
COMPILERS = ("c++", "g++", "clang++")
FLAGS = ("-std=c++20", "-O2", "-fPIC", "-w", *PROFILER)
SHARED = Path(__file__).with_name("include")  # headers that all libraries may include


class BuildError(AccelplugError):
    """A C++ library can't be built."""


def build(title: str, sources: Path, target: Path, units: int) -> None:
    """Compiles ``sources`` in ``units`` pieces side by side, and links them to ``target``, which appears complete.

    Raises BuildError where there is no compiler, or with the end of what it said where it fails.
    """
    import torch

    compiler = _compiler(title)
    print(
        f"accelplug: building {title} for torch {torch.__version__} with {Path(compiler[0]).name}, "
        "once; this takes some 20 seconds",
        file=sys.stderr,
        flush=True,
    )
    root = Path(torch.__file__).parent
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"
    of_torch = [root / "include", root / "include/torch/csrc/api/include", root / "include/kineto"]
    include = [f"-I{folder}" for folder in (*of_torch, SHARED, sources)]
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        pieces = _pieces(sources, Path(folder), units)
        objects = [piece.with_suffix(".o") for piece in pieces]
        compiling = [
            [*compiler, *FLAGS, abi, *include, "-c", str(piece), "-o", str(made)]
            for piece, made in zip(pieces, objects, strict=True)
        ]
        _run_all(title, compiling)
        made = Path(folder) / "library.so"
        linked = ["-shared", *map(str, objects), "-o", str(made), f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10"]
        _run_all(title, [[*compiler, *linked]])
        made.replace(target)  # at once: whoever sees it, sees all of it


def _pieces(sources: Path, folder: Path, units: int) -> list[Path]:
    """Files that include the sources, dealt out so that each has about as much to compile."""
    files = sorted(sources.glob("*.cpp"), key=lambda path: (-path.stat().st_size, path.name))
    pieces = []
    for number in range(units):
        piece = folder / f"unit{number}.cpp"
        piece.write_text("".join(f'#include "{file.name}"\n' for file in files[number::units]))
        pieces.append(piece)
    return pieces


def _compiler(title: str) -> list[str]:
    """The command of the C++ compiler: $CXX, else the first there is."""
    named = os.environ.get("CXX", "").split()
    for command in [named] if named else [[name] for name in COMPILERS]:
        if found := shutil.which(command[0]):
            return [found, *command[1:]]
    looked_for = f"CXX={named[0]!r}" if named else ", ".join(COMPILERS)
    raise BuildError(
        f"{title} is a C++ library that is built once for each version of torch, and there is no C++ compiler "
        f"here (looked for {looked_for}); install one: apt install g++, dnf install gcc-c++, or xcode-select --install"
    )


def _run_all(title: str, commands: Sequence[Sequence[str]]) -> None:
    """Runs them side by side. Raises BuildError with the end of what the first that failed has said."""
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        for command in commands
    ]
    said = [process.communicate()[0] for process in running]
    for process, command, text in zip(running, commands, said, strict=True):
        if process.returncode:
            end = "\n".join(text.strip().splitlines()[-20:])
            raise BuildError(
                f"{title} could not be built: {command[0]} ended with code {process.returncode}. It takes a "
                f"compiler for C++20, such as g++ 11 or clang 14. It said:\n{end}"
            )
