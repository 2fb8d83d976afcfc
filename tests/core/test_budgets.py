"""Budgets for fallbacks, as people write them."""

from __future__ import annotations

import pytest

from accelplug import budgets
from accelplug.errors import BadInputError
from accelplug.specs import Budget


def test_a_budget_is_for_all_operators_or_for_a_pattern_of_them() -> None:
    assert budgets.parse("calls=100, bytes=1MiB, aten::fill_*:calls=0, aten::add.Tensor:bytes=4096") == (
        Budget(unit="calls", limit=100),
        Budget(unit="bytes", limit=1 << 20),
        Budget(unit="calls", limit=0, ops="aten::fill_*"),
        Budget(unit="bytes", limit=4096, ops="aten::add.Tensor"),
    )
    assert budgets.parse("") == ()


@pytest.mark.parametrize("text", ["calls=100", "aten::fill_*:calls=0", "bytes=1048576"])
def test_a_budget_is_said_as_it_is_written(text: str) -> None:
    assert [str(budget) for budget in budgets.parse(text)] == [text]


@pytest.mark.parametrize(
    ("text", "size"), [("4096", 4096), (7, 7), ("64KiB", 65536), ("1.5 MB", 1_500_000), ("2gib", 2 << 30), ("0", 0)]
)
def test_sizes_have_units(text: str | int, size: int) -> None:
    assert budgets.parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("call=3", "did you mean 'calls'?"),
        ("calls", "one is calls=N or bytes=N"),
        ("calls=-1", "'-1' is not a number of calls"),
        ("bytes=1XB", "'1XB' is not a number of bytes; allowed: 4096, 64KiB"),
        ("fill_:calls=0", "'fill_' is no operator's name such as aten::fill_*"),
    ],
)
def test_a_budget_that_is_wrong_is_said_with_what_is_right(text: str, said: str) -> None:
    with pytest.raises(BadInputError) as caught:
        budgets.parse(text)
    assert said in str(caught.value)
