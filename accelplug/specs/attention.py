"""How attention is computed on a device, and how its KV cache lies in memory: what vLLM's own engine needs to know."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from accelplug.specs.record import Record

Size = Annotated[int, Field(ge=1)]

# The physical order of [layers, blocks, heads, tokens, content], as vLLM names it; content is a token's key, then its
# value.
KVLayout = Literal["LBNHC", "LBHNC"]


class AttentionSpec(Record):
    """One kind of attention on one device. Without any, accelplug computes it with PyTorch's operators.

    backend
        The qualified name of the vendor's own ``vllm.v1.attention.backend.AttentionBackend``, which replaces
        accelplug's wholly; "": accelplug's, and the fields below shape it.
    kv_layout
        The order of the KV cache in memory: tokens before heads (``LBNHC``, a token is one piece) or heads before
        tokens (``LBHNC``, what one head reads is one piece).
    block_sizes
        The numbers of tokens that a KV block may have; empty: every multiple of ``Constraints.block_multiple``.
    head_sizes
        The sizes that an attention head may have; empty: every multiple of ``Constraints.head_multiple``.
    workspace_bytes
        How much device memory one layer may take to lay out the keys and values of a batch. A batch that needs more is
        computed in several pieces; a request is never divided.
    """

    backend: str = ""
    kv_layout: KVLayout = "LBNHC"
    block_sizes: tuple[Size, ...] = ()
    head_sizes: tuple[Size, ...] = ()
    workspace_bytes: Size = 256 << 20
