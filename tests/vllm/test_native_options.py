"""What people may say about static shapes, and what they are told where they got it wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from accelplug_vllm.native import options

from accelplug.errors import BadInputError

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "vllm-options.md"


def said(given: Any) -> options.Options:
    return options.read({"accelplug": given})


def test_nothing_said_is_the_default() -> None:
    assert options.read(None) == options.read({}) == options.read({"other": {"tokens": "1"}}) == options.Options()


def test_sizes_are_a_ladder_as_everywhere_or_a_list() -> None:
    assert said({"tokens": "16,32,64..256"}).tokens == "pow2:16..256"
    assert said({"sequences": [1, 2, 8]}).sequences == "1,2,8"


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"token": "16"}, "unknown key 'token'; did you mean 'tokens'?; allowed: tokens, sequences, slicing"),
        ({"tokens": "16,8"}, "accelplug.tokens: '16,8': buckets 16,8: give them in ascending order"),
        ({"tokens": "pow:1..4"}, "accelplug.tokens: 'pow:1..4': buckets 'pow:1..4'; no form 'pow'"),
        ({"slicing": "perhaps"}, "accelplug.slicing: 'perhaps': Input should be a valid boolean"),
        ({"after_warm_up": "ignore"}, "accelplug.after_warm_up: 'ignore': Input should be 'error' or 'warn'"),
        ({"launch_cost": -1}, "accelplug.launch_cost: -1: Input should be greater than or equal to 0"),
        ({"launch_cost": "inf"}, "accelplug.launch_cost: 'inf': Input should be a finite number"),
        ("16", "'16' is no object; give one with tokens"),
    ],
    ids=["misspelt", "not a ladder", "not a form", "not a boolean", "not a mode", "below 0", "no end", "not an object"],
)
def test_a_mistake_is_said_with_what_is_allowed(given: Any, complaint: str) -> None:
    with pytest.raises(BadInputError) as raised:
        said(given)
    assert complaint in str(raised.value)
    assert str(raised.value).startswith("--additional-config accelplug")


def test_all_mistakes_are_said_at_once() -> None:
    with pytest.raises(BadInputError) as raised:
        said({"tokens": "x", "compiled": True})
    assert len(str(raised.value).splitlines()) == 2


def test_the_reference_lists_them_all() -> None:
    assert options.reference() in REFERENCE.read_text(), (
        "the table there should be what "
        "`python -c 'from accelplug_vllm.native import options; print(options.reference())'` prints"
    )


def test_sizes_for_a_device_that_takes_any_are_refused_and_layers_are_not_sizes() -> None:
    with pytest.raises(BadInputError, match=r"accelplug: slicing, tokens: CPU takes any shape"):
        options.refuse_sizes(said({"tokens": "16,32", "slicing": False}), "CPU takes any shape")
    options.refuse_sizes(said({"layers_on_device": ["RMSNorm"]}), "CPU takes any shape")
