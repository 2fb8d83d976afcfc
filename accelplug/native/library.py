"""A C++ library over libtorch: built once for each version of torch, into the user's cache, and loaded by ctypes.

It is built against PyTorch's C++ headers and not Python's, so one build fits every Python. It has one C function that
registers what it has with PyTorch and can report an error: a static initialiser that throws would end the process.
"""

from __future__ import annotations

import ctypes
import hashlib
import platform
from pathlib import Path

from filelock import FileLock

from accelplug import cache
from accelplug.native import compiler

BuildError = compiler.BuildError


class Library:
    """One library.

    title
        What messages call it: "the simulator".
    folder
        Its folder in the cache, and in `prebuilt`.
    sources
        The folder of its ``*.cpp`` and ``*.h``.
    prebuilt
        Where a wheel may carry libraries, named by their key.
    units
        How many pieces it is compiled in, side by side. Reading PyTorch's headers is most of the work: each piece does
        so once.
    """

    def __init__(self, title: str, folder: str, sources: Path, prebuilt: Path, units: int = 1) -> None:
        self.title = title
        self.folder = folder
        self.sources = sources
        self.prebuilt = prebuilt
        self.units = units
        self._path: Path | None = None
        self._handle: ctypes.CDLL | None = None

    @property
    def loaded(self) -> bool:
        """Whether it has registered what it has with PyTorch in this process."""
        return self._handle is not None

    def path(self) -> Path:
        """The file for the torch of this process: a prebuilt one, the cached one, or one built now.

        Raises BuildError where there is no compiler or the compiler fails, CacheError where the cache can't be written.
        """
        if self._path is None:
            self._path = self._find()
        return self._path

    def load(self, entry: str) -> None:
        """Loads the library and calls its function ``entry``, which returns an error's text or null. Once.

        Raises ImportError with that text, and what `path` raises.
        """
        if self.loaded:
            return
        library = ctypes.CDLL(str(self.path()))
        function = getattr(library, entry)
        function.restype = ctypes.c_char_p
        if error := function():
            raise ImportError(f"{self.title} doesn't load: {error.decode().splitlines()[0]}")
        self._handle = library

    def key(self) -> str:
        """Names all that decides whether a build fits: libtorch and its ABI, the machine, the sources, the flags."""
        import torch

        contents = hashlib.sha256(" ".join(compiler.FLAGS).encode())
        for path in (*sorted(compiler.SHARED.iterdir()), *sorted(self.sources.iterdir())):
            contents.update(path.name.encode() + b"\0" + path.read_bytes())
        abi = int(torch.compiled_with_cxx11_abi())
        return f"torch-{torch.__version__}-abi{abi}-{platform.machine()}-{contents.hexdigest()[:16]}"

    def _find(self) -> Path:
        key = self.key()
        prebuilt = self.prebuilt / f"{key}.so"
        if prebuilt.is_file():
            return prebuilt
        built = cache.folder(self.folder, "libraries") / f"{key}.so"
        with FileLock(built.with_suffix(".lock")):
            if not built.is_file():
                compiler.build(self.title, self.sources, built, self.units)
        return built
