"""Checking drafts: all requests at once, against the algorithm taken request by request and token by token."""

from __future__ import annotations

import random

import pytest
import torch
from accelplug_vllm.native import drafts
from accelplug_vllm.native.launches import as_kernel

EMPTY = -1  # what vLLM fills the output with


def kept(
    counts: list[int], tokens: list[int], accepted: list[bool], bonus: list[int], rows: list[bool]
) -> torch.Tensor:
    """What each request gets, token by token."""
    output = torch.full((len(counts), max(counts) + 1), EMPTY, dtype=torch.int32)
    start = 0
    for request, count in enumerate(counts):
        row, right = [], True
        for token, good in zip(tokens[start : start + count], accepted[start : start + count], strict=True):
            if right:
                row.append(token)
            right = right and good
        if right:
            row.append(bonus[request])
        if rows[request]:
            output[request, : len(row)] = torch.tensor(row, dtype=torch.int32)
        start += count
    return output


@pytest.mark.parametrize("seed", range(20))
def test_drafts_are_kept_up_to_the_first_that_is_rejected(seed: int) -> None:
    rng = random.Random(seed)
    counts = [rng.randrange(4) for _ in range(5)]
    tokens = [rng.randrange(100) for _ in range(sum(counts))]
    accepted = [rng.random() < 0.7 for _ in tokens]
    bonus = [rng.randrange(100, 200) for _ in counts]
    rows = [rng.random() < 0.8 for _ in counts]
    output = torch.full((len(counts), max(counts) + 1), EMPTY, dtype=torch.int32)
    drafts.keep(
        output,
        torch.tensor(counts).cumsum(0).to(torch.int32),
        torch.tensor(tokens, dtype=torch.int32),
        torch.tensor(accepted, dtype=torch.bool),
        torch.tensor(bonus)[:, None],
        torch.tensor(rows),
    )
    assert output.tolist() == kept(counts, tokens, accepted, bonus, rows).tolist()


def test_a_step_without_drafts_gives_each_request_its_bonus_token() -> None:
    output = torch.full((2, 1), EMPTY, dtype=torch.int32)
    none = torch.empty(0, dtype=torch.int32)
    drafts.keep(output, torch.zeros(2, dtype=torch.int32), none, none.bool(), torch.tensor([[7], [8]]), None)
    assert output.tolist() == [[7], [8]]


@pytest.fixture
def sampler():
    """vLLM's rejection sampler, with the kernels in place; what was there before comes back."""
    from vllm.triton_utils import dispatcher
    from vllm.v1.sample import rejection_sampler

    owners = [
        value for value in vars(rejection_sampler).values() if type(value).__name__ == "_DecoratedTritonJitKernel"
    ]
    kernels = [owner.kernel for owner in owners]
    names = {name: getattr(rejection_sampler, name) for name in drafts.KERNELS}
    registered = dict(dispatcher._registry)
    drafts.register.__wrapped__()  # not only once
    yield rejection_sampler
    for owner, kernel in zip(owners, kernels, strict=True):
        owner.kernel = kernel
        owner.__dict__.pop("_kernel_arg_names", None)
    for name, kernel in names.items():
        setattr(rejection_sampler, name, kernel)
    dispatcher._registry.clear()
    dispatcher._registry.update(registered)


def test_vllms_sampler_gives_greedy_requests_the_likeliest_tokens(sampler) -> None:
    logits = torch.nn.functional.one_hot(torch.tensor([3, 5, 2]), 8).float()
    found = _sampled(sampler, logits, drafted=[3, 4, 2], counts=[2, 1], temperature=None)
    assert found == [[3, 5, EMPTY], [2, 9, EMPTY]]


def test_vllms_sampler_follows_the_models_distribution_whatever_is_drafted(sampler) -> None:
    """Many requests draft the same token; what comes out in its place is as likely as the model has it."""
    torch.manual_seed(0)
    wanted = torch.tensor([0.5, 0.3, 0.2])
    requests = 4000
    logits = wanted.log().expand(requests, 3).contiguous()
    ones = torch.ones(requests)
    found = _sampled(sampler, logits, drafted=[0] * requests, counts=[1] * requests, temperature=ones)
    first = torch.tensor([row[0] for row in found])
    torch.testing.assert_close(torch.bincount(first, minlength=3) / requests, wanted, atol=0.03, rtol=0)
    assert all((row[1] == 9) == (row[0] == 0) for row in found), "the bonus token comes where the draft was taken"


def _sampled(sampler, logits: torch.Tensor, drafted: list[int], counts: list[int], temperature) -> list[list[int]]:
    from types import SimpleNamespace

    asked = SimpleNamespace(
        all_greedy=temperature is None, all_random=temperature is not None, temperature=temperature, generators={}
    )
    found = sampler.rejection_sample(
        torch.tensor(drafted, dtype=torch.int32),
        counts,
        max(counts),
        torch.tensor(counts).cumsum(0).to(torch.int32),
        None,
        logits,
        torch.full((len(counts), 1), 9, dtype=torch.int32),
        asked,
    )
    rows: list[list[int]] = found.tolist()
    return rows


def test_each_draft_gets_its_requests_value() -> None:
    output = torch.empty(5)
    values = torch.tensor([0.0, 2.0, 3.0])
    given = {"output_ptr": output, "input_ptr": values, "cu_num_tokens_ptr": torch.tensor([2, 2, 5]), "replace_from": 0}
    drafts.KERNELS["expand_kernel"](given | {"replace_to": 1})
    assert output.tolist() == [1, 1, 3, 3, 3]


def test_a_kernels_arguments_are_known_by_its_own_names() -> None:
    def kernel(first_ptr, second, THIRD):  # noqa: N803
        """As Triton has it."""

    seen: dict[str, int] = {}
    as_kernel(kernel, seen.update)(1, 2, THIRD=3)
    assert seen == {"first_ptr": 1, "second": 2, "THIRD": 3}
