"""The Triton kernels of vLLM's V1 runner, in PyTorch's operators, for devices without Triton."""

from __future__ import annotations

import inspect
from typing import Any

import torch

SLOT_MAPPING = "vllm.v1.worker.block_table.ComputeSlotMappingKernel.kernel"


def register() -> None:
    """Puts them in the kernels' place. vLLM calls this in each worker, before anything is launched."""
    from vllm.triton_utils.dispatcher import register_kernels

    register_kernels({SLOT_MAPPING: _SlotMapping()})


class _SlotMapping:
    """Where in the KV cache each token of a step goes. Called as the kernel is, whose parameters differ by version."""

    def __init__(self) -> None:
        from vllm.v1.worker.block_table import ComputeSlotMappingKernel

        kernel = ComputeSlotMappingKernel.kernel
        # Without Triton the kernel is a plain function; an override that was registered before has the kernel's names.
        self._names = list(getattr(kernel, "arg_names", None) or inspect.signature(kernel).parameters)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        given = dict(zip(self._names, args, strict=False)) | kwargs
        if given["TOTAL_CP_WORLD_SIZE"] != 1:
            raise NotImplementedError("context parallelism needs vLLM's own slot-mapping kernel, and so Triton")
        tokens, padding = given["num_tokens"], given["PAD_ID"]
        mapping, starts = given["slot_mapping_ptr"], given["query_start_loc_ptr"]
        table = given["block_table_ptr"]
        table = table.view(-1, given["block_table_stride"]) if table.dim() == 1 else table
        size = given["KV_CACHE_BLOCK_SIZE"]
        positions = given["positions_ptr"][:tokens]
        token = torch.arange(tokens, dtype=starts.dtype, device=starts.device)
        request = torch.searchsorted(starts[1:].contiguous(), token, right=True)
        blocks = table[request, positions // size].to(mapping.dtype)
        mapping[:tokens] = blocks * size + positions % size
        mapping[tokens : given["max_num_tokens"]] = padding
