"""docs/support.md says what docs/reference/support.json has, and what a refusal has to say."""

from __future__ import annotations

import json

import pytest

from tools.support.__main__ import PAGE, RECORD
from tools.support.catalogue import STARTS
from tools.support.page import page
from tools.support.runs import CPU, DEVICES
from tools.support.served import FEATURES

FOUND = json.loads(RECORD.read_text())
REFUSALS = [
    pytest.param(row["flag"], row[device]["reason"], id=f"{row['feature']} on {device}")
    for row in FOUND["rows"]
    for device in FOUND["devices"]
    if device != CPU and row[device]["outcome"] == "refused"
]


def test_the_page_is_what_the_run_found() -> None:
    assert PAGE.read_text() == page(FOUND), "run `make support`"


def test_the_run_was_of_the_whole_catalogue_on_all_devices() -> None:
    features = [feature.name for start in STARTS.values() for feature in start.features]
    assert [row["feature"] for row in FOUND["rows"]] == features + [feature.name for feature in FEATURES]
    assert FOUND["devices"] == [*DEVICES]


def test_nothing_on_a_simulated_device_differs_or_fails() -> None:
    outcomes = {row[device]["outcome"] for row in FOUND["rows"] for device in FOUND["devices"] if device != CPU}
    assert outcomes <= {"same", "close", "refused", "ran"}


@pytest.mark.parametrize(("flag", "reason"), REFUSALS)
def test_a_refusal_begins_with_its_option_and_ends_with_what_to_do(flag: str, reason: str) -> None:
    assert flag.startswith("--"), "nobody asked for it with an option"
    assert reason.startswith(flag)
    said, _, remedy = reason.rpartition("; ")
    assert said.count(": ") >= 2, "the option, the device, the reason"
    assert remedy
