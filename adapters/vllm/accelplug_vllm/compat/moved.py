"""What the supported versions of vLLM call by other names, each in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from itertools import chain
from typing import Any

SLOT_MAPPING = "vllm.v1.worker.block_table.ComputeSlotMappingKernel.kernel"
DISPATCHER = "vllm.triton_utils.dispatcher"
SLOT_MAPPING_0_28 = "vllm.v1.worker.block_table._compute_slot_mapping_kernel"


def start_runner(worker: Any) -> None:
    """What a worker's ``init_device`` ends with; a method of its own since 0.32."""
    if hasattr(worker, "_init_workspace_and_model_runner"):
        worker._init_workspace_and_model_runner()
        return
    from vllm.v1.worker.gpu_model_runner import GPUModelRunner
    from vllm.v1.worker.workspace import init_workspace_manager

    init_workspace_manager(worker.device)
    worker.model_runner = GPUModelRunner(worker.vllm_config, worker.device)


def waiting(scheduler: Any) -> Iterator[Any]:
    """The requests of a scheduler that have not begun; since 0.31 those whose KV cache is there already wait apart."""
    return chain(getattr(scheduler, "kv_holding_waiting", ()), scheduler.waiting)


def slot_mapping() -> str:
    """The slot mapping's Triton kernel; a function of its module in 0.28, a class's since then."""
    of_a_class = hasattr(import_module("vllm.v1.worker.block_table"), "ComputeSlotMappingKernel")
    return SLOT_MAPPING if of_a_class else SLOT_MAPPING_0_28


def register_kernels(kernels: Mapping[str, Callable[..., Any]]) -> None:
    """Puts functions in the place of Triton kernels; vLLM has a way for that since 0.31."""
    try:
        dispatcher = import_module(DISPATCHER)
    except ModuleNotFoundError as error:
        if error.name != DISPATCHER:
            raise
        for name, kernel in kernels.items():
            owner, attribute = holder(name)
            before = getattr(owner, attribute)
            setattr(owner, attribute, kernel)
            for launcher in vars(owner).values():  # of 0.30, made with the kernel
                if getattr(launcher, "kernel", None) is before:
                    launcher.kernel = kernel
    else:
        dispatcher.register_kernels(kernels)


def holder(name: str) -> tuple[Any, str]:
    """The module or class that has ``name``, and what it calls it. Raises AttributeError where there is none."""
    path, _, attribute = name.rpartition(".")
    try:
        return import_module(path), attribute
    except ModuleNotFoundError as error:
        if error.name != path:
            raise
        owner, cls = holder(path)
        return getattr(owner, cls), attribute
