"""accelplug's paged attention against the textbook's, request by request in float64."""

from __future__ import annotations

import functools
import itertools
import random
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from accelplug_vllm.native.attention import cache, step
from accelplug_vllm.native.attention.compute import Compute, Rules, pytorch
from accelplug_vllm.native.attention.pieces import Padding, divide

from accelplug.buckets import Ladder

BLOCK = 8
SIZE = 16
PLAIN = Rules(0.3)
EXACT = {torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 2e-3}


@dataclass
class Case:
    """A batch, and the model's and the device's wishes. ``requests`` are (queries, keys in all)."""

    requests: tuple[tuple[int, int], ...] = ((1, 9), (1, 40), (7, 7), (5, 30), (13, 13))
    heads: int = 6
    kv_heads: int = 2
    dtype: torch.dtype = torch.float32
    window: int | None = None
    causal: bool | tuple[bool, ...] = True
    rules: Rules = PLAIN
    cached: bool = True
    layout: str = "LBNHC"
    most_keys: int = 1 << 20
    rounded_to: int = 1
    rows: int = 1
    cost_of_a_piece: int = 1 << 16
    compute: Compute = pytorch


def computed(case: Case, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """accelplug's output for the case, and the reference, both [tokens, heads, size]."""
    rng = torch.Generator().manual_seed(seed)
    widths = np.array([queries for queries, _ in case.requests], dtype=np.int32)
    lengths = np.array([keys for _, keys in case.requests], dtype=np.int32)
    tokens = int(widths.sum())
    query = torch.randn(tokens, case.heads, SIZE, generator=rng).to(case.dtype)
    keys = [torch.randn(n, case.kv_heads, SIZE, generator=rng).to(case.dtype) for n in lengths]
    values = [torch.randn(n, case.kv_heads, SIZE, generator=rng).to(case.dtype) for n in lengths]

    kv_cache, table = paged(case, lengths)
    if case.cached:
        for row, (key, value) in enumerate(zip(keys, values, strict=True)):
            position = torch.arange(len(key))
            cache.write(kv_cache, key, value, table[row, position // BLOCK] * BLOCK + position % BLOCK)
    starts = torch.tensor([0, *itertools.accumulate(widths.tolist())], dtype=torch.int32)
    batch = step.Batch(
        widths,
        lengths,
        starts,
        torch.from_numpy(lengths),
        table if case.cached else None,
        case.causal if isinstance(case.causal, bool) else torch.tensor(case.causal),
    )
    needs = step.Needs(
        {case.window},
        case.rules.slopes is not None,
        case.dtype,
        BLOCK,
        case.most_keys,
        Padding(*(functools.partial(rounded, to=to) for to in (case.rows, case.rounded_to, case.rounded_to))),
        case.cost_of_a_piece,
    )
    output = torch.empty_like(query)
    flat = [torch.cat(x) for x in (keys, values)] if not case.cached else [None, None]
    attention = step.Attention(case.rules, case.window, case.compute)
    step.run(step.prepare(batch, needs), attention, query, *flat, kv_cache, output)

    expected = [
        reference(case, row, q, k, v)
        for row, (q, k, v) in enumerate(zip(query.split(widths.tolist()), keys, values, strict=True))
    ]
    return output, torch.cat(expected)


def rounded(length: int, to: int) -> int:
    return -(-length // to) * to


def paged(case: Case, lengths: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """An empty cache and a block table, its blocks in no order. Whatever is not written is NaN."""
    blocks = [-(-int(length) // BLOCK) for length in lengths]
    numbers = (torch.randperm(sum(blocks), generator=torch.Generator().manual_seed(1)) + 1).to(torch.int32)
    table = torch.zeros(len(blocks), max(blocks) + 2, dtype=torch.int32)
    for row, own in enumerate(numbers.split(blocks)):
        table[row, : len(own)] = own
    shape = (sum(blocks) + 1, case.kv_heads, BLOCK, 2 * SIZE)
    if case.layout == "LBHNC":
        return torch.full(shape, float("nan"), dtype=case.dtype), table
    by_token = torch.full((shape[0], shape[2], shape[1], shape[3]), float("nan"), dtype=case.dtype)
    return by_token.transpose(1, 2), table


def reference(case: Case, row: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """One request's attention in float64, with every key spelt out."""
    rules = case.rules
    groups = case.heads // case.kv_heads
    q = query.double().transpose(0, 1)
    k = key.double().repeat_interleave(groups, 1).transpose(0, 1)
    v = value.double().repeat_interleave(groups, 1).transpose(0, 1)
    at, to = torch.arange(len(query))[:, None] + len(key) - len(query), torch.arange(len(key))[None]
    scores = q @ k.transpose(1, 2) * rules.scale
    if rules.soft_cap:
        scores = rules.soft_cap * torch.tanh(scores / rules.soft_cap)
    if rules.slopes is not None:
        scores = scores + rules.slopes.double()[:, None, None] * (to - at)
    if case.causal if isinstance(case.causal, bool) else case.causal[row]:
        scores = scores.masked_fill(to > at, -torch.inf)
    if case.window is not None:
        scores = scores.masked_fill(to <= at - case.window, -torch.inf)
        if not case.cached:
            scores = scores.masked_fill(to >= at + case.window, -torch.inf)
    if rules.sinks is not None:
        sink = rules.sinks.double()[:, None, None].expand(-1, len(query), 1)
        return (torch.softmax(torch.cat((scores, sink), -1), -1)[..., :-1] @ v).transpose(0, 1)
    return (torch.softmax(scores, -1) @ v).transpose(0, 1)


def check(case: Case) -> None:
    found, expected = computed(case)
    torch.testing.assert_close(found.double(), expected, atol=EXACT[case.dtype], rtol=EXACT[case.dtype])


@pytest.mark.parametrize("dtype", EXACT, ids=str)
@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 4), (6, 2), (5, 1)], ids=["MHA", "GQA", "MQA"])
@pytest.mark.parametrize(
    "requests",
    [((17, 17),), ((1, 1), (1, 33), (1, 8)), ((3, 20), (9, 9)), ((1, 9), (1, 40), (7, 7), (5, 30))],
    ids=["prefill", "decode", "chunked prefill", "mixed"],
)
def test_each_kind_of_batch_in_each_dtype(
    requests: tuple[tuple[int, int], ...], heads: int, kv_heads: int, dtype: torch.dtype
) -> None:
    check(Case(requests, heads, kv_heads, dtype))


SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625, 0.03, 0.015])
SINKS = torch.tensor([0.0, 1.0, -1.0, 2.0, 0.5, -3.0])


@pytest.mark.parametrize("dtype", EXACT, ids=str)
@pytest.mark.parametrize("window", [None, 1, 4, 16, 100])
@pytest.mark.parametrize(
    "rules",
    [
        Rules(0.3),
        Rules(0.3, soft_cap=2.0),
        Rules(0.3, slopes=SLOPES),
        Rules(0.3, sinks=SINKS),
        Rules(1.0, 5.0, SLOPES, SINKS),
    ],
    ids=["plain", "soft cap", "ALiBi", "sinks", "all of them"],
)
def test_what_models_ask_of_their_scores(rules: Rules, window: int | None, dtype: torch.dtype) -> None:
    check(Case(rules=rules, window=window, dtype=dtype))


@pytest.mark.parametrize("slopes", [None, SLOPES], ids=["plain", "ALiBi"])
@pytest.mark.parametrize("window", [None, 4])
def test_a_vendors_own_computation_is_given_all_it_needs(window: int | None, slopes: torch.Tensor | None) -> None:
    shapes = set()

    def own(
        query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, bias: torch.Tensor, scale: float
    ) -> torch.Tensor:
        shapes.add((query.shape, key.shape, value.shape))
        assert bias.shape == (len(query), 1 if slopes is None else 6, query.shape[2], key.shape[2])
        groups = query.shape[1] // key.shape[1]
        scores = query @ key.repeat_interleave(groups, 1).transpose(-1, -2) * scale + bias
        return scores.softmax(-1) @ value.repeat_interleave(groups, 1)

    check(Case(window=window, rules=Rules(0.3, slopes=slopes), compute=own))
    check(Case(((7, 7), (20, 20)), cached=False, causal=False, rules=Rules(0.3, slopes=slopes), compute=own))
    assert len(shapes) > 2
    assert {(query[1], key[1]) for query, key, _ in shapes} == {(6, 2)}


@pytest.mark.parametrize("layout", ["LBNHC", "LBHNC"])
def test_the_cache_lies_as_the_device_wants_it(layout: str) -> None:
    check(Case(layout=layout, window=11))
    check(Case(layout=layout))


@pytest.mark.parametrize("rounded_to", [4, 32, 64])
def test_padding_to_fixed_lengths_changes_nothing(rounded_to: int) -> None:
    check(Case(rounded_to=rounded_to))
    check(Case(rounded_to=rounded_to, window=5, rules=Rules(0.3, 2.0, SLOPES, SINKS)))


@pytest.mark.parametrize("rows", [2, 8])
def test_padding_to_a_fixed_number_of_requests_changes_nothing(rows: int) -> None:
    check(Case(rows=rows))
    check(Case(rows=rows, rounded_to=16, causal=(True, False, True, True, False), window=5))
    check(Case(((7, 7), (1, 1), (12, 12)), cached=False, causal=False, rows=rows))
    check(Case(((1, 9), (0, 4), (5, 30), (0, 0)), rows=rows))


def test_all_pieces_of_all_batches_have_one_of_few_shapes() -> None:
    """What runs in each layer depends on a piece's shape alone, so a device sees no other shapes than these."""
    rng, requests, lengths = random.Random(0), Ladder((1, 2, 4, 8)), Ladder((16, 64, 256))
    padding = Padding(requests.choose, lambda n: n if n == 1 else lengths.choose(n), lengths.choose)
    there_are = set(itertools.product(requests.sizes, (1, *lengths.sizes), lengths.sizes))
    seen = set()
    for _ in range(300):
        keys = [rng.randint(1, 256) for _ in range(rng.randint(1, 8))]
        widths = [rng.choice((1, rng.randint(1, n))) for n in keys]
        for piece in divide(widths, keys, 1 << 10, padding):
            assert piece.rows >= len(piece.requests)
            seen.add((piece.rows, piece.queries, piece.keys))
    assert len(seen) > 10
    assert seen <= there_are


@pytest.mark.parametrize("most_keys", [1, 64, 100])
def test_a_batch_that_needs_too_much_memory_is_computed_in_pieces(most_keys: int) -> None:
    check(Case(most_keys=most_keys))
    check(Case(most_keys=most_keys, window=6))


@pytest.mark.parametrize("rows", [1, 4])
def test_pieces_of_requests_that_are_no_neighbours_come_back_to_their_places(rows: int) -> None:
    lengths = ((1, 9), (1, 40), (7, 7), (1, 8), (1, 41), (5, 30), (7, 8))
    check(Case(lengths, cost_of_a_piece=1, rows=rows))
    check(Case(lengths, cost_of_a_piece=1, rows=rows, window=6, rules=Rules(0.3, slopes=SLOPES)))


def test_without_a_cache_a_request_sees_its_own_tokens_only() -> None:
    requests = ((7, 7), (1, 1), (12, 12), (3, 3))
    check(Case(requests, cached=False, causal=False))
    check(Case(requests, cached=False, causal=True))


@pytest.mark.parametrize("window", [1, 3, 8])
def test_an_encoders_window_reaches_both_ways(window: int) -> None:
    check(Case(((7, 7), (20, 20)), cached=False, causal=False, window=window))


def test_queries_of_a_decoder_see_all_that_its_encoder_said() -> None:
    check(Case(((1, 40), (4, 17), (1, 3)), causal=False))


def test_some_requests_of_a_batch_may_be_causal() -> None:
    check(Case(((4, 9), (6, 6), (3, 20)), causal=(True, False, True)))


def test_a_request_without_tokens_does_no_harm() -> None:
    """As where vLLM pads a batch: those after it are computed as if it weren't there."""
    check(Case(((1, 9), (0, 4), (5, 30), (0, 0))))


def test_tokens_without_a_slot_are_not_written() -> None:
    kv_cache = torch.zeros(3, 2, BLOCK, 2 * SIZE)
    key = torch.ones(3, 2, SIZE)
    cache.write(kv_cache, key, key, torch.tensor([BLOCK + 1, -1, 2 * BLOCK]))
    written = kv_cache[1:].abs().sum((1, 3))
    assert written.nonzero().tolist() == [[0, 1], [1, 0]]


def test_one_query_and_many_are_never_in_one_piece() -> None:
    pieces = divide([1, 1, 7, 1], [90, 5, 7, 3], most_keys=1 << 20)
    assert [(piece.requests, piece.queries, piece.keys) for piece in pieces] == [((0, 1, 3), 1, 90), ((2,), 7, 7)]


def test_a_long_prompt_is_kept_from_short_ones_where_padding_them_costs_more_than_a_piece() -> None:
    assert of([10, 2000, 12], [10, 2000, 12]) == [(0, 2), (1,)]
    assert of([10, 100, 12], [10, 100, 12]) == [(0, 1, 2)]


def test_answers_after_long_prompts_are_kept_from_those_after_short_ones() -> None:
    keys = [30, 5000, 40, 6000, 20]
    assert of([1] * 5, keys) == [(0, 2, 4), (1, 3)]
    assert of([1] * 5, keys, cost_of_a_piece=1 << 20) == [(0, 1, 2, 3, 4)]


def of(queries: list[int], keys: list[int], **costs: int) -> list[tuple[int, ...]]:
    return [piece.requests for piece in divide(queries, keys, 1 << 20, **costs)]
