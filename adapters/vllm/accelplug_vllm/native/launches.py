"""How vLLM calls a Triton kernel, for what stands in the place of one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def as_kernel(kernel: Any, compute: Callable[[dict[str, Any]], None]) -> Callable[..., None]:
    """``compute(given)``, called as ``kernel`` is; ``given`` is by the kernel's own names, which differ by version."""
    # Without Triton the kernel is a plain function; an override that was registered before has the kernel's names.
    names = list(getattr(kernel, "arg_names", None) or inspect.signature(getattr(kernel, "func", kernel)).parameters)

    def launch(*args: Any, **kwargs: Any) -> None:
        compute(dict(zip(names, args, strict=False)) | kwargs)

    return launch
