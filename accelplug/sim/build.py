"""The simulator's C++ library."""

from __future__ import annotations

from pathlib import Path

from accelplug.native import Library

HERE = Path(__file__).parent
UNITS = 2
SIMULATOR = Library("the simulator", "sim", HERE / "csrc", HERE / "prebuilt", UNITS)


def library() -> Path:
    """The library for the torch of this process, built now where it isn't yet. Raises BuildError, CacheError."""
    return SIMULATOR.path()
