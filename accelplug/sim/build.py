"""Builds the simulator's C++ library: once for each version of torch, into the user's cache."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock

from accelplug.errors import AccelplugError
from accelplug.sim import cache

SOURCES = Path(__file__).parent / "csrc"
PREBUILT = Path(__file__).parent / "prebuilt"  # a wheel may carry libraries here, named by their key
COMPILERS = ("c++", "g++", "clang++")
FLAGS = ("-std=c++20", "-O2", "-fPIC", "-w")
UNITS = 2  # reading PyTorch's headers is most of the work: each unit does so once, and they compile side by side


class BuildError(AccelplugError):
    """The simulator's library can't be built."""


@functools.cache
def library() -> Path:
    """The library for the torch of this process: a prebuilt one, the cached one, or one built now.

    Raises BuildError where there is no compiler or the compiler fails, CacheError where the cache can't be written.
    """
    key = _key()
    prebuilt = PREBUILT / f"{key}.so"
    if prebuilt.is_file():
        return prebuilt
    built = cache.folder("libraries") / f"{key}.so"
    with FileLock(built.with_suffix(".lock")):
        if not built.is_file():
            _build(built)
    return built


def _key() -> str:
    """Names all that decides whether a library fits: libtorch and its ABI, the machine, the sources, the flags."""
    import torch

    contents = hashlib.sha256(" ".join(FLAGS).encode())
    for path in sorted(SOURCES.iterdir()):
        contents.update(path.name.encode() + b"\0" + path.read_bytes())
    abi = int(torch.compiled_with_cxx11_abi())
    return f"torch-{torch.__version__}-abi{abi}-{platform.machine()}-{contents.hexdigest()[:16]}"


def _build(target: Path) -> None:
    import torch

    compiler = _compiler()
    print(
        f"accelplug: building the simulator for torch {torch.__version__} with {Path(compiler[0]).name}, "
        "once; this takes some 20 seconds",
        file=sys.stderr,
        flush=True,
    )
    root = Path(torch.__file__).parent
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"
    include = [f"-I{root / 'include'}", f"-I{root / 'include/torch/csrc/api/include'}", f"-I{SOURCES}"]
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        units = _units(Path(folder))
        objects = [unit.with_suffix(".o") for unit in units]
        _run_all(
            [
                [*compiler, *FLAGS, abi, *include, "-c", str(unit), "-o", str(made)]
                for unit, made in zip(units, objects, strict=True)
            ]
        )
        made = Path(folder) / "library.so"
        _run_all(
            [[*compiler, "-shared", *map(str, objects), "-o", str(made), f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10"]]
        )
        made.replace(target)  # at once: whoever sees it, sees all of it


def _units(folder: Path) -> list[Path]:
    """Files that include the sources, dealt out so that each has about as much to compile."""
    sources = sorted(SOURCES.glob("*.cpp"), key=lambda path: (-path.stat().st_size, path.name))
    units = []
    for number in range(UNITS):
        unit = folder / f"unit{number}.cpp"
        unit.write_text("".join(f'#include "{source.name}"\n' for source in sources[number::UNITS]))
        units.append(unit)
    return units


def _compiler() -> list[str]:
    """The command of the C++ compiler: $CXX, else the first there is."""
    named = os.environ.get("CXX", "").split()
    for command in [named] if named else [[name] for name in COMPILERS]:
        if found := shutil.which(command[0]):
            return [found, *command[1:]]
    looked_for = f"CXX={named[0]!r}" if named else ", ".join(COMPILERS)
    raise BuildError(
        f"the simulator is a C++ library that is built once for each version of torch, and there is no C++ compiler "
        f"here (looked for {looked_for}); install one: apt install g++, dnf install gcc-c++, or xcode-select --install"
    )


def _run_all(commands: Sequence[Sequence[str]]) -> None:
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
                f"the simulator could not be built: {command[0]} ended with code {process.returncode}. It takes a "
                f"compiler for C++20, such as g++ 11 or clang 14. It said:\n{end}"
            )
