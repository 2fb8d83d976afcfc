"""Which drafted tokens are kept, against vLLM's rule spelt out request by request."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from accelplug_vllm.native import drafts

COUNTS = [3, 0, 2, 4, 1]
VOCABULARY = 11
LONGEST = 4
NOTHING = -1


def given(seed: int, greedy: list[bool] | None, with_probabilities: bool) -> dict[str, Any]:
    """The kernels' arguments for five requests with up to four drafted tokens each."""
    rng = torch.Generator().manual_seed(seed)
    tokens = sum(COUNTS)
    target = torch.rand(tokens, VOCABULARY, generator=rng).softmax(-1)
    drafted = torch.where(
        torch.rand(tokens, generator=rng) < 0.6,
        target.argmax(-1),
        torch.randint(VOCABULARY, (tokens,), generator=rng),
    ).to(torch.int32)
    return {
        "output_token_ids_ptr": torch.full((len(COUNTS), LONGEST + 1), NOTHING, dtype=torch.int32),
        "cu_num_draft_tokens_ptr": torch.tensor(COUNTS).cumsum(0).to(torch.int32),
        "draft_token_ids_ptr": drafted,
        "draft_probs_ptr": torch.rand(tokens, VOCABULARY, generator=rng).softmax(-1) if with_probabilities else None,
        "target_probs_ptr": target,
        "target_argmax_ptr": target.argmax(-1),
        "bonus_token_ids_ptr": torch.arange(100, 100 + len(COUNTS))[:, None],
        "recovered_token_ids_ptr": torch.arange(50, 50 + tokens, dtype=torch.int32),
        "uniform_probs_ptr": torch.rand(tokens, generator=rng, dtype=torch.float64) / 4,
        "is_greedy_ptr": None if greedy is None else torch.tensor(greedy),
        "max_spec_len": LONGEST,
        "NO_DRAFT_PROBS": not with_probabilities,
        "SYNTHETIC_MODE": False,
    }


def kept(values: dict[str, Any], accept: Any, said: Any, whose: Any) -> list[list[int]]:
    """The rule: what is said for each token up to the first that is not accepted, then the bonus if all were."""
    rows, token = [], 0
    for row, count in enumerate(COUNTS):
        out: list[int] = []
        for place in range(token, token + count):
            out.append(int(said(place)))
            if not accept(place):
                break
        else:
            out.append(int(values["bonus_token_ids_ptr"][row, 0]))
        token += count
        rows.append([*out, *[NOTHING] * (LONGEST + 1 - len(out))] if whose(row) else [NOTHING] * (LONGEST + 1))
    return rows


@pytest.mark.parametrize("greedy", [None, [True, False, True, True, False]], ids=["all", "some"])
@pytest.mark.parametrize("seed", range(5))
def test_greedy_drafts_are_kept_up_to_the_first_that_the_model_would_not_say(
    seed: int, greedy: list[bool] | None
) -> None:
    values = given(seed, greedy, with_probabilities=False)
    target, drafted = values["target_argmax_ptr"], values["draft_token_ids_ptr"]
    drafts.accept_greedy(values)
    expected = kept(
        values, lambda i: drafted[i] == target[i], lambda i: target[i], lambda r: greedy is None or greedy[r]
    )
    assert values["output_token_ids_ptr"].tolist() == expected


@pytest.mark.parametrize("with_probabilities", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_sampled_drafts_are_kept_by_their_probabilities(seed: int, with_probabilities: bool) -> None:
    greedy = [False, False, True, False, False]
    values = given(seed, greedy, with_probabilities)
    drafted, target, uniform = (values[f"{name}_ptr"] for name in ("draft_token_ids", "target_probs", "uniform_probs"))

    def accept(i: int) -> bool:
        share = values["draft_probs_ptr"][i, drafted[i]] if with_probabilities else 1.0
        return bool(target[i, drafted[i]] / share >= uniform[i])

    drafts.accept_random(values)
    recovered = values["recovered_token_ids_ptr"]
    expected = kept(values, accept, lambda i: drafted[i] if accept(i) else recovered[i], lambda r: not greedy[r])
    assert values["output_token_ids_ptr"].tolist() == expected


def test_no_draft_at_all_leaves_each_request_its_bonus() -> None:
    values = given(0, None, with_probabilities=False)
    values["cu_num_draft_tokens_ptr"] = torch.zeros(5, dtype=torch.int32)
    values["draft_token_ids_ptr"] = torch.empty(0, dtype=torch.int32)
    values["target_argmax_ptr"] = torch.empty(0, dtype=torch.int64)
    drafts.accept_greedy(values)
    assert values["output_token_ids_ptr"][:, 0].tolist() == [100, 101, 102, 103, 104]
    assert (values["output_token_ids_ptr"][:, 1:] == NOTHING).all()


def test_a_value_is_repeated_for_each_of_a_requests_tokens() -> None:
    output = torch.empty(sum(COUNTS))
    ends = torch.tensor(COUNTS).cumsum(0).to(torch.int32)
    values = torch.tensor([1.0, 2.0, 0.0, 4.0, 5.0])
    drafts.expand(
        {"output_ptr": output, "input_ptr": values, "cu_num_tokens_ptr": ends, "replace_from": 0.0, "replace_to": 9.0}
    )
    assert output.tolist() == [1, 1, 1, 9, 9, 4, 4, 4, 4, 5]


def test_a_rejected_draft_is_never_said_again() -> None:
    values = given(0, None, with_probabilities=False)
    output = torch.empty(sum(COUNTS), dtype=torch.int32)
    certain = torch.nn.functional.one_hot(values["draft_token_ids_ptr"].long(), VOCABULARY).float()
    nearly = certain * 0.99 + 0.001
    drafts.recover(
        values
        | {
            "output_token_ids_ptr": output,
            "target_probs_ptr": nearly,
            "inv_q_ptr": torch.ones(len(COUNTS), VOCABULARY),
        }
    )
    assert (output != values["draft_token_ids_ptr"]).all()
