"""Where in the KV cache each token of a step goes, in PyTorch's operators: a Triton kernel of vLLM's V1 runner."""

from __future__ import annotations

import functools
from typing import Any

import torch

from accelplug_vllm.native.launches import as_kernel

SLOT_MAPPING = "vllm.v1.worker.block_table.ComputeSlotMappingKernel.kernel"


@functools.cache
def register() -> None:
    """Puts it in the kernel's place, once. vLLM has this done in each worker, before anything is launched."""
    from vllm.triton_utils.dispatcher import register_kernels
    from vllm.v1.worker.block_table import ComputeSlotMappingKernel

    register_kernels({SLOT_MAPPING: as_kernel(ComputeSlotMappingKernel.kernel, _map_slots)})


def _map_slots(given: dict[str, Any]) -> None:
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
