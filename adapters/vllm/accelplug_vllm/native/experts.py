"""Mixtures of experts in PyTorch's operators: vLLM leaves them to the platform on a device outside of its tree."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

Activation = Callable[[torch.Tensor], torch.Tensor]

# By the value of vLLM's MoEActivation. Each takes the gate's half of the first projection and multiplies the other.
GATED: dict[str, Activation] = {
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": functools.partial(F.gelu, approximate="tanh"),
}


def mix(
    x: torch.Tensor,
    first: torch.Tensor,
    second: torch.Tensor,
    weights: torch.Tensor,
    experts: torch.Tensor,
    activation: Activation,
) -> torch.Tensor:
    """What the experts make of ``x`` [tokens, hidden], weighted and summed.

    ``first`` [experts, 2 * inner, hidden] and ``second`` [experts, hidden, inner] are their projections. ``weights``
    and ``experts`` [tokens, chosen] say which ones a token goes to; -1 is none of those here. Every expert sees every
    token, with weight 0 where it was not chosen: shapes then don't depend on values, at the cost of computing too much.
    """
    here = experts >= 0
    shares = torch.zeros(x.shape[0], first.shape[0], dtype=torch.float32, device=x.device)
    shares.scatter_add_(1, experts.clamp(min=0).long(), weights.float() * here)
    mixed = torch.zeros(x.shape, dtype=torch.float32, device=x.device)
    for expert in range(first.shape[0]):
        gate, up = F.linear(x, first[expert]).chunk(2, -1)
        mixed += shares[:, expert, None] * F.linear(activation(gate) * up, second[expert])
    return mixed.to(x.dtype)


def route(
    scores: Activation,
    weights: torch.Tensor,
    experts: torch.Tensor,
    token_expert_indices: torch.Tensor,
    logits: torch.Tensor,
    renormalize: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Chooses each token's experts by its ``logits`` [tokens, experts], into ``weights`` and ``experts``.

    As vLLM's ``vllm_topk_softmax``, ``token_expert_indices`` being of use to its CUDA kernels only.
    """
    best, chosen = scores(logits.float()).topk(weights.shape[-1], dim=-1)
    weights.copy_(best / best.sum(-1, keepdim=True) if renormalize else best)
    experts.copy_(chosen)
    return weights, experts


@functools.cache
def register() -> None:
    """Gives vLLM this for its router and experts, in this process. See compat: "experts" and "experts.router"."""
    from vllm.model_executor.custom_op import op_registry_oot
    from vllm.model_executor.layers.fused_moe.router import fused_topk_router
    from vllm.model_executor.layers.fused_moe.unquantized_fused_moe_method import UnquantizedFusedMoEMethod

    fused_topk_router.vllm_topk_softmax = functools.partial(route, functools.partial(torch.softmax, dim=-1))
    fused_topk_router.vllm_topk_sigmoid = functools.partial(route, torch.sigmoid)

    if UnquantizedFusedMoEMethod.__name__ in op_registry_oot:
        return  # the vendor's own

    @UnquantizedFusedMoEMethod.register_oot(name=UnquantizedFusedMoEMethod.__name__)
    class NativeExperts(UnquantizedFusedMoEMethod):  # type: ignore[misc]
        @property
        def is_monolithic(self) -> bool:
            return False  # the router is vLLM's

        def process_weights_after_loading(self, layer: Any) -> None:
            super().process_weights_after_loading(layer)
            if layer.activation.value not in GATED or self.moe.has_bias or layer.apply_router_weight_on_input:
                raise NotImplementedError(
                    f"experts with activation {layer.activation.value!r}, bias: {self.moe.has_bias}, weights on the "
                    f"input: {layer.apply_router_weight_on_input}: accelplug has those with {', '.join(GATED)} and "
                    "neither of the others; use another model"
                )

        def forward_native(
            self,
            layer: Any,
            x: torch.Tensor,
            topk_weights: torch.Tensor,
            topk_ids: torch.Tensor,
            shared_experts: Any,
            shared_experts_input: torch.Tensor | None,
        ) -> torch.Tensor:
            # Shared experts are the runner's: without a kernel that overlaps them it calls them itself.
            ids = topk_ids if layer.expert_map is None else layer.expert_map[topk_ids.long()]
            return mix(x, layer.w13_weight, layer.w2_weight, topk_weights, ids, GATED[layer.activation.value])

    NativeExperts.name = UnquantizedFusedMoEMethod.name  # so that custom_ops goes on naming it as vLLM does
