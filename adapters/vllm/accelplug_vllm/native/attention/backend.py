"""accelplug's attention as vLLM takes it: what it can do, and one layer's part of a step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from vllm.config import get_current_vllm_config
from vllm.v1.attention.backend import AttentionBackend, AttentionImpl, AttentionType, MultipleOf

from accelplug_vllm.native import device
from accelplug_vllm.native.attention import cache, step
from accelplug_vllm.native.attention.compute import Rules, pytorch
from accelplug_vllm.native.attention.metadata import PagedMetadata, PagedMetadataBuilder

if TYPE_CHECKING:
    from vllm.v1.kv_cache_interface import KVCacheLayout

# How the dimensions [blocks, heads, tokens, content] of a layer's cache lie in memory, by the names of vLLM's layouts.
ORDERS = {"LBHNC": (0, 1, 2, 3), "LBNHC": (0, 2, 1, 3)}
WITHOUT_CACHE = (AttentionType.ENCODER_ONLY, AttentionType.ENCODER)


class PagedAttention(AttentionBackend):  # type: ignore[misc]
    """Paged attention on the device that is live in this process, in PyTorch's operators."""

    forward_includes_kv_cache_update = False
    supported_dtypes: ClassVar[list[torch.dtype]] = [torch.float32, torch.bfloat16, torch.float16]
    supported_kv_cache_dtypes: ClassVar[list[str]] = ["auto", "float16", "bfloat16"]

    @staticmethod
    def get_name() -> str:
        return "CUSTOM"  # the name that vLLM keeps for backends from outside

    @staticmethod
    def get_impl_cls() -> type[PagedAttentionLayer]:
        return PagedAttentionLayer

    @staticmethod
    def get_builder_cls() -> type[PagedMetadataBuilder]:
        return PagedMetadataBuilder

    @staticmethod
    def get_supported_kernel_block_sizes(kv_cache_spec: Any = None) -> list[int | MultipleOf]:
        here = device.current()
        return [*here.attention().block_sizes] or [MultipleOf(here.constraints.block_multiple)]

    @classmethod
    def supported_kv_cache_layouts(cls) -> tuple[KVCacheLayout, ...]:
        from vllm.v1.kv_cache_interface import KVCacheLayout

        return (KVCacheLayout[device.current().attention().kv_layout],)

    @staticmethod
    def get_kv_cache_shape(
        num_blocks: int, block_size: int, num_kv_heads: int, head_size: int, cache_dtype_str: str = "auto"
    ) -> tuple[int, ...]:
        """vLLM before 0.29, which has no layouts, asks for this and for the order in memory."""
        return num_blocks, num_kv_heads, block_size, 2 * head_size

    @staticmethod
    def get_kv_cache_stride_order(include_num_layers_dimension: bool = False) -> tuple[int, ...]:
        if include_num_layers_dimension:
            raise NotImplementedError("each layer has a cache of its own")
        return ORDERS[device.current().attention().kv_layout]

    @classmethod
    def supports_head_size(cls, head_size: int) -> bool:
        here = device.current()
        sizes = here.attention().head_sizes
        return head_size in sizes if sizes else head_size % here.constraints.head_multiple == 0

    @classmethod
    def supports_dtype(cls, dtype: torch.dtype) -> bool:
        return dtype in cls.supported_dtypes and device.current().holds(dtype)

    @classmethod
    def supports_attn_type(cls, attn_type: str) -> bool:
        return attn_type in (AttentionType.DECODER, AttentionType.ENCODER_DECODER, *WITHOUT_CACHE)

    @classmethod
    def supports_sliding_window(cls) -> bool:
        return True

    @classmethod
    def supports_sink(cls) -> bool:
        return True

    @classmethod
    def supports_non_causal(cls) -> bool:
        return True

    @classmethod
    def supports_device_cpu_query_lens_mismatch(cls) -> bool:
        return False  # pieces are divided by what the host knows


def in_use(layers: Iterable[Any]) -> dict[str, tuple[str, ...]]:
    """What computes attention in a model's ``layers``, for the report: ``{"Attention": ("acme.attention.attend",)}``.

    A backend of the vendor's own is there by its name.
    """
    impls = [layer.impl for layer in layers if hasattr(layer, "impl")]
    made = [impl.attention.compute if isinstance(impl, PagedAttentionLayer) else type(impl) for impl in impls]
    names = dict.fromkeys(f"{each.__module__}.{each.__qualname__}" for each in made)
    return {"Attention": tuple(names)} if names else {}


class PagedAttentionLayer(AttentionImpl[PagedMetadata]):  # type: ignore[misc]
    """One attention layer of a model."""

    def __init__(
        self,
        num_heads: int,
        head_size: int,
        scale: float,
        num_kv_heads: int | None = None,
        alibi_slopes: list[float] | None = None,
        sliding_window: int | None = None,
        kv_cache_dtype: str = "auto",
        logits_soft_cap: float | None = None,
        attn_type: str = AttentionType.DECODER,
        kv_sharing_target_layer_name: str | None = None,
        sinks: torch.Tensor | None = None,
    ) -> None:
        config = get_current_vllm_config()
        here = device.current()
        spec = here.attention(attn_type)
        self.num_heads = num_heads
        self.head_size = head_size
        self.scale = float(scale)
        self.num_kv_heads = num_kv_heads or num_heads
        self.kv_cache_dtype = kv_cache_dtype
        self._no_cache = attn_type in WITHOUT_CACHE
        slopes = None
        if alibi_slopes is not None:
            slopes = torch.tensor(alibi_slopes, dtype=torch.float32, device=here.torch_type)
        rules = Rules(self.scale, logits_soft_cap or 0.0, slopes, sinks)
        self.attention = step.Attention(rules, sliding_window, spec.compute or pytorch)
        dtype = torch.get_default_dtype()
        key_bytes = self.num_kv_heads * 2 * head_size * dtype.itemsize
        self.most_keys = spec.workspace_bytes // key_bytes
        tokens = config.scheduler_config.max_num_batched_tokens
        longest = config.model_config.max_model_len if config.model_config else tokens  # without, a layer on its own
        tokens = min(tokens, longest)
        self._reserve = max(self.most_keys, longest) * key_bytes + tokens * longest * dtype.itemsize

    def do_kv_cache_update(
        self, layer: Any, key: torch.Tensor, value: torch.Tensor, kv_cache: torch.Tensor, slot_mapping: torch.Tensor
    ) -> None:
        """Writes new keys and values to the cache; vLLM calls it before `forward`."""
        if not self._no_cache:
            cache.write(kv_cache, key, value, slot_mapping)

    def forward(
        self,
        layer: Any,
        query: torch.Tensor,
        key: torch.Tensor | None,
        value: torch.Tensor | None,
        kv_cache: torch.Tensor,
        attn_metadata: PagedMetadata | None,
        output: torch.Tensor,
        output_scale: torch.Tensor | None = None,
        output_block_scale: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """``query`` [tokens, heads, size] to ``output`` [tokens, heads, size of a value]."""
        if attn_metadata is None:
            # vLLM runs the model like this to see how much memory it takes beside the cache: take what a step may.
            query.new_empty(self._reserve, dtype=torch.int8)
            return output.zero_()
        step.run(attn_metadata.pieces, self.attention, query, key, value, kv_cache, output)
        return output
