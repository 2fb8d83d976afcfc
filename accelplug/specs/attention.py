"""How attention is computed on a device, and how its KV cache lies in memory: what vLLM's own engine needs to know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

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
    compute
        The vendor's own computation, where accelplug's does the rest: ``compute(query, key, value, bias, scale)`` to
        [requests, heads, queries, size]. ``query`` is [requests, heads, queries, size], ``key`` and ``value``
        [requests, KV heads, keys, size], taken out of the cache and padded already; consecutive heads share a KV head.
        ``bias`` is added to the products that ``scale`` multiplies, -inf where a query must not see a key: [requests,
        1, queries, keys], or a row for each head where the model has ALiBi. It runs on a simulated device too. None:
        PyTorch's ``scaled_dot_product_attention``. A soft cap and sinks are computed step by step either way.
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
    compute: Callable[[Any, Any, Any, Any, float], Any] | None = None
    kv_layout: KVLayout = "LBNHC"
    block_sizes: tuple[Size, ...] = ()
    head_sizes: tuple[Size, ...] = ()
    workspace_bytes: Size = 256 << 20

    @model_validator(mode="after")
    def _one_of_the_two(self) -> AttentionSpec:
        if self.backend and self.compute:
            raise ValueError(f"backend {self.backend!r} replaces all of accelplug's attention, `compute` too; give one")
        return self
