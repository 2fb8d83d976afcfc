"""vLLM's slot mapping: where in the KV cache each token of a step goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch


def map_slots(given: Mapping[str, Any]) -> None:
    """Arguments as the Triton kernel ``ComputeSlotMappingKernel`` has them; fills ``slot_mapping_ptr``."""
    if given["TOTAL_CP_WORLD_SIZE"] != 1:
        raise NotImplementedError("context parallelism needs vLLM's own slot-mapping kernel, and so Triton")
    # Before vLLM 0.32 the blocks of the table, which may be parts of the manager's, have a size of their own.
    tokens, size = given["num_tokens"], given.get("block_size", given["KV_CACHE_BLOCK_SIZE"])
    mapping, starts, table = given["slot_mapping_ptr"], given["query_start_loc_ptr"], given["block_table_ptr"]
    table = table.view(-1, given["block_table_stride"]) if table.dim() == 1 else table
    positions = given["positions_ptr"][:tokens]
    token = torch.arange(tokens, dtype=starts.dtype, device=starts.device)
    request = torch.searchsorted(starts[1:].contiguous(), token, right=True)
    blocks = table[request, positions // size].to(mapping.dtype)
    mapping[:tokens] = blocks * size + positions % size
    mapping[tokens : given["max_num_tokens"]] = given["PAD_ID"]
