"""The kernels that backends bring: each backend is asked once, and what could not work is refused with both names."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from accelplug import settings
from accelplug.errors import BackendError
from accelplug.notices import warn_once
from accelplug.plugins import Backend, ask, discover
from accelplug.specs import Kernel

HOOK = "accelplug_kernels"


@functools.cache
def kernels_of(backend: Backend) -> tuple[Kernel, ...]:
    """The backend's kernels, none where it has no such hook.

    Raises BackendError where the hook fails, returns anything but kernels, or two kernels of one name for an operator.
    """
    answer = ask(backend, HOOK, Sequence) or ()  # type: ignore[type-abstract]
    seen: dict[tuple[str, str], Kernel] = {}
    for kernel in answer:
        if not isinstance(kernel, Kernel):
            raise BackendError(f"hook {HOOK} of backend {backend.name} ({backend.origin}) returned {kernel!r}")
        if other := seen.get((kernel.op, str(kernel))):
            raise BackendError(
                f"backend {backend.name} ({backend.origin}) brings two kernels {kernel} of {kernel.op}: "
                f"{_where(other)} and {_where(kernel)}; give one of them another name"
            )
        seen[kernel.op, str(kernel)] = kernel
    return tuple(answer)


def known_names() -> set[str]:
    """What scopes and settings may name: every backend's providers (``"nki"``) and kernels (``"nki/mm_tiled"``).

    A backend whose hook fails is said once and left out: that is an error where its device is made live.
    """
    values = settings.read().values
    kernels = [kernel for backend in discover(values.backends, values.simulate) for kernel in _if_known(backend)]
    return {kernel.provider for kernel in kernels} | {str(kernel) for kernel in kernels}


def _if_known(backend: Backend) -> tuple[Kernel, ...]:
    try:
        return kernels_of(backend)
    except BackendError as error:
        warn_once(f"the kernels of backend {backend.name} are unknown: {error}")
        return ()


def _where(kernel: Kernel) -> str:
    code = getattr(kernel.reference, "__code__", None)
    return f"the one at {code.co_filename}:{code.co_firstlineno}" if code else f"the one of {kernel.reference!r}"
