"""The chip's attention against the textbook's, in float64."""

from __future__ import annotations

import pytest
import torch

from accelplug_tessera.attention import attend


@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 4), (6, 2), (5, 1)])
@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (1, 70), (33, 33), (7, 40)])
def test_every_query_sees_the_keys_up_to_its_own(heads: int, kv_heads: int, queries: int, keys: int) -> None:
    torch.manual_seed(0)
    query = torch.randn(2, heads, queries, 16)
    key, value = torch.randn(2, 2, kv_heads, keys, 16).unbind()
    unseen = torch.ones(queries, keys, dtype=torch.bool).triu(keys - queries + 1)
    bias = torch.zeros(2, 1, queries, keys).masked_fill(unseen, float("-inf"))

    k, v = (x.double().repeat_interleave(heads // kv_heads, 1) for x in (key, value))
    expected = torch.softmax(query.double() @ k.transpose(-1, -2) * 0.3 + bias, -1) @ v
    torch.testing.assert_close(attend(query, key, value, bias, 0.3).double(), expected, atol=1e-5, rtol=1e-5)
