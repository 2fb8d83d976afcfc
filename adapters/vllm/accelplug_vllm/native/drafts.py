"""Drafts of speculative decoding are checked in PyTorch's operators, where vLLM has Triton kernels.

The drafts of a step's requests lie one after the other: ``ends`` [requests] is where each request's end. A request's
drafts are kept up to the first that is rejected, in whose place comes another token; if all are kept, a bonus token
follows. That is the algorithm of https://arxiv.org/abs/2211.17192, as vLLM divides it into kernels.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from accelplug_vllm.native.launches import as_kernel

MODULE = "vllm.v1.sample.rejection_sampler"


@functools.cache
def register() -> None:
    """Puts them in the kernels' place, once. vLLM has this done in each worker. See compat: "runner.drafts"."""
    from vllm.triton_utils.dispatcher import register_kernels
    from vllm.v1.sample import rejection_sampler

    register_kernels(
        {f"{MODULE}.{name}": as_kernel(getattr(rejection_sampler, name), compute) for name, compute in KERNELS.items()}
    )


def keep(
    output: torch.Tensor,
    ends: torch.Tensor,
    tokens: torch.Tensor,
    accepted: torch.Tensor,
    bonus: torch.Tensor,
    rows: torch.Tensor | None,
) -> None:
    """Writes to ``output`` [requests, most drafts + 1] what each request gets, and leaves the rest of it.

    ``accepted`` [drafts] says which drafts are; ``tokens`` [drafts] is what comes in the place of each if those before
    it were accepted. ``bonus`` [requests] follows where all were. ``rows`` [requests] are those to write; None: all.
    """
    starts = _starts(ends)
    counts = (ends - starts)[:, None]
    column = torch.arange(output.shape[1], device=output.device)
    right = _by_request(accepted, starts, column[:-1]) & (column[:-1] < counts)
    so_far = (~right).to(torch.int32).cumsum(1) == 0
    kept = torch.cat([torch.ones_like(counts, dtype=torch.bool), so_far], 1)  # and nothing behind the bonus token
    if rows is not None:
        kept = kept & rows[:, None]
    last = bonus.reshape(-1, 1).to(output.dtype)
    drafted = torch.cat([_by_request(tokens.to(output.dtype), starts, column[:-1]), last], 1)
    output.copy_(torch.where(kept, torch.where(column == counts, last, drafted), output))


def _greedy(given: dict[str, Any]) -> None:
    """Requests without randomness: a draft is accepted where it is the likeliest token."""
    draft, likeliest = given["draft_token_ids_ptr"], given["target_argmax_ptr"]
    accepted = _synthetic(given) if given["SYNTHETIC_MODE"] else draft == likeliest
    tokens = torch.where(accepted, draft, likeliest.to(draft.dtype))
    rows = given["is_greedy_ptr"]
    keep(
        given["output_token_ids_ptr"],
        given["cu_num_draft_tokens_ptr"],
        tokens,
        accepted,
        given["bonus_token_ids_ptr"],
        rows,
    )


def _random(given: dict[str, Any]) -> None:
    """The other requests: a draft is accepted with the model's probability of it over the drafter's."""
    draft = given["draft_token_ids_ptr"]
    if given["SYNTHETIC_MODE"]:
        accepted = _synthetic(given)
    else:
        at = draft.clamp(min=0).long()[:, None]
        wanted = given["target_probs_ptr"].gather(1, at)[:, 0]
        offered = torch.ones_like(wanted)
        if not given["NO_DRAFT_PROBS"]:
            offered = given["draft_probs_ptr"].gather(1, at)[:, 0]
        likely = wanted >= given["uniform_probs_ptr"] * offered
        accepted = (draft >= 0) & (offered > 0) & likely
    tokens = torch.where(accepted, draft, given["recovered_token_ids_ptr"].to(draft.dtype))
    rows = ~given["is_greedy_ptr"]
    keep(
        given["output_token_ids_ptr"],
        given["cu_num_draft_tokens_ptr"],
        tokens,
        accepted,
        given["bonus_token_ids_ptr"],
        rows,
    )


def _expand(given: dict[str, Any]) -> None:
    """Each request's value for each of its drafts, with one value replaced."""
    output, values = given["output_ptr"], given["input_ptr"]
    values = torch.where(values == given["replace_from"], given["replace_to"], values)
    output.copy_(values[_requests(given["cu_num_tokens_ptr"], output.shape[0])])


def _recover(given: dict[str, Any]) -> None:
    """The token in the place of each draft, should it be rejected: from what the model wants beyond what was offered.

    The largest of probabilities that are divided by exponential random numbers is a sample of them.
    """
    output, wanted, draft = given["output_token_ids_ptr"], given["target_probs_ptr"], given["draft_token_ids_ptr"]
    if given["NO_DRAFT_PROBS"]:
        vocabulary = torch.arange(wanted.shape[1], device=wanted.device)
        rest = torch.where(vocabulary == draft[:, None], 0.0, wanted)
    else:
        rest = (wanted - given["draft_probs_ptr"]).clamp(min=0)
    scores = rest * given["inv_q_ptr"][_requests(given["cu_num_draft_tokens_ptr"], draft.shape[0])]
    output.copy_(scores.argmax(-1))


KERNELS: dict[str, Callable[[dict[str, Any]], None]] = {
    "rejection_greedy_sample_kernel": _greedy,
    "rejection_random_sample_kernel": _random,
    "expand_kernel": _expand,
    "sample_recovered_tokens_kernel": _recover,
}


def _synthetic(given: dict[str, Any]) -> torch.Tensor:
    """vLLM's mode for benchmarks: each position's drafts are accepted at a rate that was asked for."""
    ends, draft = given["cu_num_draft_tokens_ptr"], given["draft_token_ids_ptr"]
    position = torch.arange(draft.shape[0], device=draft.device) - _starts(ends)[_requests(ends, draft.shape[0])]
    return (given["uniform_probs_ptr"] < given["synthetic_conditional_rates_ptr"][position]) & (draft >= 0)


def _starts(ends: torch.Tensor) -> torch.Tensor:
    return torch.cat([torch.zeros_like(ends[:1]), ends[:-1]])


def _requests(ends: torch.Tensor, drafts: int) -> torch.Tensor:
    """Whose each draft is."""
    return torch.searchsorted(ends, torch.arange(drafts, dtype=ends.dtype, device=ends.device), right=True)


def _by_request(flat: torch.Tensor, starts: torch.Tensor, column: torch.Tensor) -> torch.Tensor:
    """``flat`` [drafts] as [requests, columns]; what is behind a request's own is of no meaning."""
    padded = torch.cat([flat, flat.new_zeros(1)])  # a step may have no drafts at all
    return padded[(starts[:, None] + column).clamp(max=flat.shape[0])]
