"""A mixture of experts against one that goes token by token in float64."""

from __future__ import annotations

import pytest
import torch
from accelplug_vllm.native.experts import GATED, mix, route

TOKENS, HIDDEN, INNER, EXPERTS, CHOSEN = 7, 12, 10, 5, 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("activation", GATED)
@pytest.mark.parametrize("elsewhere", [False, True], ids=["all here", "some on another device"])
def test_each_token_goes_to_the_experts_that_were_chosen(elsewhere: bool, activation: str, dtype: torch.dtype) -> None:
    rng = torch.Generator().manual_seed(0)
    x = torch.randn(TOKENS, HIDDEN, generator=rng).to(dtype)
    first = torch.randn(EXPERTS, 2 * INNER, HIDDEN, generator=rng).to(dtype) / 4
    second = torch.randn(EXPERTS, HIDDEN, INNER, generator=rng).to(dtype) / 4
    weights = torch.rand(TOKENS, CHOSEN, generator=rng)
    experts = torch.rand(TOKENS, EXPERTS, generator=rng).topk(CHOSEN).indices.to(torch.int32)
    if elsewhere:
        experts[experts == 3] = -1

    expected = torch.zeros(TOKENS, HIDDEN, dtype=torch.float64)
    for token in range(TOKENS):
        for weight, expert in zip(weights[token].tolist(), experts[token].tolist(), strict=True):
            if expert >= 0:
                gate, up = (first[expert].double() @ x[token].double()).chunk(2)
                expected[token] += weight * (second[expert].double() @ (GATED[activation](gate) * up))

    found = mix(x, first, second, weights, experts, GATED[activation])
    exact = 1e-5 if dtype is torch.float32 else 3e-2
    torch.testing.assert_close(found.double(), expected, atol=exact, rtol=exact)


@pytest.mark.parametrize("renormalize", [False, True])
def test_the_best_experts_are_chosen_with_their_share(renormalize: bool) -> None:
    logits = torch.tensor([[0.0, 2.0, 1.0], [3.0, -1.0, 0.0]])
    weights, experts = torch.empty(2, CHOSEN), torch.empty(2, CHOSEN, dtype=torch.int32)
    route(torch.sigmoid, weights, experts, experts, logits, renormalize)
    assert experts.tolist() == [[1, 2], [0, 2]]
    expected = torch.tensor([[2.0, 1.0], [3.0, 0.0]]).sigmoid()
    torch.testing.assert_close(weights, expected / expected.sum(-1, keepdim=True) if renormalize else expected)
