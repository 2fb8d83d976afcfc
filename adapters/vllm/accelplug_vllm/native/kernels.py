"""Puts PyTorch's operators in the place of the Triton kernels that vLLM's V1 runner and samplers can't do without."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from accelplug_vllm import compat
from accelplug_vllm.compat import moved
from accelplug_vllm.native import drafts, slots

Given = Mapping[str, Any]

REJECTION = "vllm.v1.sample.rejection_sampler"
DRAFTS: dict[str, Callable[[Given], None]] = {
    f"{REJECTION}.rejection_greedy_sample_kernel": drafts.accept_greedy,
    f"{REJECTION}.rejection_random_sample_kernel": drafts.accept_random,
    f"{REJECTION}.expand_kernel": drafts.expand,
    f"{REJECTION}.sample_recovered_tokens_kernel": drafts.recover,
}


@functools.cache
def register() -> None:
    """Does that in this process, once, before the first launch. See compat: "kernels"."""
    functions = {moved.slot_mapping(): slots.map_slots, **(DRAFTS if compat.works(compat.DRAFTS) else {})}
    moved.register_kernels({name: Launched(name, function) for name, function in functions.items()})


class Launched:
    """Called as the kernel is, by position or by name; its function gets all arguments by the kernel's names.

    A kernel's parameters come and go from version to version; the function looks at those that it needs.
    """

    def __init__(self, name: str, function: Callable[[Given], None]) -> None:
        owner, attribute = moved.holder(name)
        kernel = getattr(owner, attribute)
        # Without Triton the kernel is a plain function; an override that was registered before has the kernel's names.
        self.arg_names = list(getattr(kernel, "arg_names", None) or inspect.signature(kernel).parameters)
        self._function = function

    def __getitem__(self, grid: Any) -> Launched:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        self._function(dict(zip(self.arg_names, args, strict=False)) | kwargs)
