"""Puts PyTorch's operators in the place of the Triton kernels that vLLM's V1 runner and samplers can't do without."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from accelplug_vllm.native import drafts, slots

Given = Mapping[str, Any]

REJECTION = "vllm.v1.sample.rejection_sampler"
REPLACED: dict[str, Callable[[Given], None]] = {
    "vllm.v1.worker.block_table.ComputeSlotMappingKernel.kernel": slots.map_slots,
    f"{REJECTION}.rejection_greedy_sample_kernel": drafts.accept_greedy,
    f"{REJECTION}.rejection_random_sample_kernel": drafts.accept_random,
    f"{REJECTION}.expand_kernel": drafts.expand,
    f"{REJECTION}.sample_recovered_tokens_kernel": drafts.recover,
}


@functools.cache
def register() -> None:
    """Does that in this process, once. vLLM calls it in each worker, before the first launch. See compat: "kernels"."""
    from vllm.triton_utils.dispatcher import register_kernels

    register_kernels({name: _Launched(name, function) for name, function in REPLACED.items()})


class _Launched:
    """Called as the kernel is, by position or by name; its function gets all arguments by the kernel's names.

    A kernel's parameters come and go from version to version; the function looks at those that it needs.
    """

    def __init__(self, name: str, function: Callable[[Given], None]) -> None:
        kernel = _found(name)
        # Without Triton the kernel is a plain function; an override that was registered before has the kernel's names.
        self._names = list(getattr(kernel, "arg_names", None) or inspect.signature(kernel).parameters)
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        self._function(dict(zip(self._names, args, strict=False)) | kwargs)


def _found(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(import_module(module), attribute)
    except ModuleNotFoundError:  # a class's
        return getattr(_found(module), attribute)
