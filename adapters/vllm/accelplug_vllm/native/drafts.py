"""Speculative decoding: which drafted tokens are kept. vLLM's rejection sampler, without a loop over requests.

Each function takes the arguments of the Triton kernel that it replaces, by name. Drafts of all requests lie one after
another; ``cu_num_…`` [requests] is where each request's end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

Given = Mapping[str, Any]


@dataclass(frozen=True)
class Drafts:
    """Whose each token is (``request`` [tokens]), at which place among them (``place`` [tokens]).

    A request's are those from ``starts`` to ``ends`` [requests].
    """

    request: torch.Tensor
    place: torch.Tensor
    starts: torch.Tensor
    ends: torch.Tensor


def accept_greedy(given: Given) -> None:
    """``rejection_greedy_sample_kernel``: keeps what the model would have said itself, up to the first other token."""
    _refuse_synthetic(given)
    target = given["target_argmax_ptr"]
    greedy = given["is_greedy_ptr"]
    whose = torch.ones_like(given["cu_num_draft_tokens_ptr"], dtype=torch.bool) if greedy is None else greedy
    _write(given, whose, given["draft_token_ids_ptr"] == target, target)


def accept_random(given: Given) -> None:
    """``rejection_random_sample_kernel``: keeps a token with the probability that makes the result the model's own."""
    _refuse_synthetic(given)
    drafted, recovered = given["draft_token_ids_ptr"], given["recovered_token_ids_ptr"]
    at = drafted.clamp(min=0).long()[:, None]  # -1 is a draft that is padding
    likely = given["target_probs_ptr"].gather(1, at)[:, 0]
    drafts = given["draft_probs_ptr"]
    drawn = torch.ones_like(likely) if given["NO_DRAFT_PROBS"] else drafts.gather(1, at)[:, 0]
    accepted = (drafted >= 0) & (drawn > 0) & (likely / drawn >= given["uniform_probs_ptr"])
    _write(given, ~given["is_greedy_ptr"], accepted, torch.where(accepted, drafted.to(recovered.dtype), recovered))


def expand(given: Given) -> None:
    """``expand_kernel``: a value of each request, once for each of its tokens."""
    values, output = given["input_ptr"], given["output_ptr"]
    drafts = _drafts(given["cu_num_tokens_ptr"], output.shape[0])
    replaced = torch.where(values == given["replace_from"], given["replace_to"], values)
    output.copy_(replaced[drafts.request])


def recover(given: Given) -> None:
    """``sample_recovered_tokens_kernel``: the token to say instead of a rejected one."""
    # A kernel sees no shapes: vLLM gives drafts, and with them the output, as [tokens] or as [tokens, 1].
    target, output = given["target_probs_ptr"], given["output_token_ids_ptr"].view(-1)
    drafts = _drafts(given["cu_num_draft_tokens_ptr"], output.shape[0])
    if given["NO_DRAFT_PROBS"]:
        drafted = given["draft_token_ids_ptr"].view(-1, 1).clamp(min=0).long()
        left = target.scatter(1, drafted, 0.0)
    else:
        left = (target - given["draft_probs_ptr"]).clamp(min=0)
    output.copy_((left * given["inv_q_ptr"][drafts.request]).argmax(-1))


def _drafts(ends: torch.Tensor, tokens: int) -> Drafts:
    token = torch.arange(tokens, dtype=ends.dtype, device=ends.device)
    request = torch.searchsorted(ends, token, right=True)
    starts = torch.cat((ends.new_zeros(1), ends[:-1]))
    return Drafts(request, token - starts[request], starts, ends)


def _write(given: Given, whose: torch.Tensor, accepted: torch.Tensor, said: torch.Tensor) -> None:
    """Writes what ``whose`` [requests] requests say: tokens up to the first rejected one, and the bonus if none was."""
    flat = given["output_token_ids_ptr"].view(-1)
    width = given["max_spec_len"] + 1
    drafts = _drafts(given["cu_num_draft_tokens_ptr"], accepted.shape[0])
    # [tokens + 1]: how many were rejected before each token, of all requests.
    rejected = torch.nn.functional.pad(torch.cumsum(~accepted, 0, dtype=torch.int32), (1, 0))
    before, after = rejected[drafts.starts], rejected[drafts.ends]

    says = whose[drafts.request] & (rejected[:-1] == before[drafts.request])
    at = drafts.request * width + drafts.place
    flat[at] = torch.where(says, said.to(flat.dtype), flat[at])

    last = torch.arange(len(before), device=flat.device) * width + (drafts.ends - drafts.starts)
    bonus = given["bonus_token_ids_ptr"].view(-1).to(flat.dtype)
    flat[last] = torch.where(whose & (after == before), bonus, flat[last])


def _refuse_synthetic(given: Given) -> None:
    if given["SYNTHETIC_MODE"]:
        raise NotImplementedError("synthetic acceptance of drafts needs vLLM's own kernels, and so Triton")
