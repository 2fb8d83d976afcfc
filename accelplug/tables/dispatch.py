"""The C++ library that chooses among kernels for each call, as `torch.ops.accelplug_dispatch`."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from accelplug.cache import CacheError
from accelplug.native import BuildError, Library
from accelplug.notices import warn_once

HERE = Path(__file__).parent
LIBRARY = Library("the table of kernels", "kernels", HERE / "csrc", HERE / "prebuilt")


@functools.cache
def available() -> bool:
    """Whether the library is loaded, after building it where that hasn't been done. Says once why it isn't."""
    try:
        LIBRARY.load("accelplug_kernels_load")
    except (BuildError, CacheError, ImportError) as error:
        warn_once(f"kernels run in compiled graphs only, and not eagerly: {error}")
        return False
    return True


def ops() -> Any:
    """The library's operators. Where it can't be loaded, there are none: ask `available` first."""
    import torch

    return torch.ops.accelplug_dispatch
