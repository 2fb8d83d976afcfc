"""How many cards the variables leave, and the mock device.

On folders that look like machines; nothing here has seen the hardware.
"""

from __future__ import annotations

import pytest
from accelplug_spyre import visible
from accelplug_spyre.hardware import Card
from hypothesis import given
from hypothesis import strategies as st
from spyre_machines import PF, VF, add_card, add_software, address, machine, probe
from trees import Tree

from accelplug.specs import Verdict


@pytest.mark.parametrize(
    ("environ", "count"),
    [
        ({"SPYRE_DEVICES": "0,2"}, 2),
        ({"SPYRE_DEVICES": " 3 , 3"}, 1),
        ({"SPYRE_DEVICES": "0,9"}, 1),
        ({"AIU_WORLD_SIZE": "2"}, 2),
        ({"AIU_WORLD_SIZE": "4"}, 4),
        ({"AIU_WORLD_SIZE": "2", "SPYRE_DEVICES": "1,2,3"}, 2),
        ({"AIU_WORLD_SIZE": "3", "SPYRE_DEVICES": "2"}, 1),
        ({"FLEX_DEVICE": "PF"}, 4),
    ],
)
def test_variables_limit_the_cards(tree: Tree, environ: dict[str, str], count: int) -> None:
    found = probe(machine(tree).host(environ))
    assert (found.verdict, found.count) == (Verdict.usable, count)


def test_a_limited_count_says_what_limits_it(tree: Tree) -> None:
    assert probe(machine(tree).host({"SPYRE_DEVICES": "0,2"})).reason == "2 Spyre cards of 4, by SPYRE_DEVICES='0,2'"


@pytest.mark.parametrize(("kind", "count"), [("PF", 1), ("VF", 2)])
def test_flex_device_picks_cards_or_virtual_functions(tree: Tree, kind: str, count: int) -> None:
    add_card(tree, 0, PF)
    add_card(tree, 1, VF)
    add_card(tree, 2, VF)
    add_software(tree)
    assert probe(tree.host({"FLEX_DEVICE": kind})).count == count


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        ("SPYRE_DEVICES", "4", "none of these is here, the cards are 0 to 3"),
        ("SPYRE_DEVICES", "", "names no card"),
        ("SPYRE_DEVICES", "0,x", "'x' is not the index of a card"),
        ("SPYRE_DEVICES", "-1", "'-1' is not the index of a card"),
        ("AIU_WORLD_SIZE", "0", "must be a number of cards, 1 or more"),
        ("AIU_WORLD_SIZE", "two", "must be a number of cards, 1 or more"),
        ("AIU_WORLD_SIZE", "5", "but there are 4 here"),
        ("FLEX_DEVICE", "GPU", "must be PF (cards), VF (virtual functions of cards) or MOCK"),
        ("FLEX_DEVICE", "VF", "but the cards here are PF"),
    ],
)
def test_what_leaves_no_card_is_hidden_and_names_the_variable(
    tree: Tree, variable: str, value: str, problem: str
) -> None:
    found = probe(machine(tree).host({variable: value}))
    assert (found.verdict, found.count) == (Verdict.hidden, 0)
    assert f"4 Spyre cards, hidden by {variable}={value!r}: " in found.reason
    assert problem in found.reason
    assert found.remedy == f"unset {variable}, or correct it"


@pytest.mark.parametrize("devices", ["0,1", "3,5"])
def test_a_pod_may_call_its_cards_by_either_numbering(tree: Tree, devices: str) -> None:
    for number in range(12):
        add_card(tree, number, node=number in (3, 5))
    add_software(tree)
    assert probe(tree.host({"SPYRE_DEVICES": devices})).count == 2


@given(st.sets(st.integers(0, 15), min_size=1), st.lists(st.integers(0, 20), min_size=1))
def test_named_cards_never_count_more_than_there_are(indices: set[int], named: list[int]) -> None:
    cards = [Card(address(index), "PF", index, node=f"/dev/vfio/{index}") for index in sorted(indices)]
    environ = {"SPYRE_DEVICES": ",".join(map(str, named))}
    if {*named} & (indices | {*range(len(cards))}):
        assert 1 <= visible.visible(environ, cards) <= min(len({*named}), len(cards))
    else:
        with pytest.raises(visible.SettingError, match="none of these is here"):
            visible.visible(environ, cards)


# the mock device of flex


@pytest.mark.parametrize("kind", ["MOCK", "MOCK1p0"])
def test_the_mock_device_is_usable_without_a_card_and_labelled_simulated(tree: Tree, kind: str) -> None:
    add_software(tree)
    found = probe(tree.host({"FLEX_DEVICE": kind, "AIU_WORLD_SIZE": "2"}))
    assert (found.verdict, found.count, found.simulated) == (Verdict.usable, 2, True)
    assert "computes nothing" in found.reason


def test_real_cards_are_not_simulated(tree: Tree) -> None:
    assert not probe(machine(tree).host({"FLEX_DEVICE": "PF"})).simulated


@pytest.mark.parametrize(
    ("environ", "said"),
    [({}, "needs AIU_WORLD_SIZE"), ({"AIU_WORLD_SIZE": "0"}, "hidden by AIU_WORLD_SIZE='0'")],
)
def test_the_mock_device_needs_a_number_of_cards(tree: Tree, environ: dict[str, str], said: str) -> None:
    found = probe(machine(tree).host({"FLEX_DEVICE": "MOCK"} | environ))
    assert found.verdict is Verdict.hidden
    assert said in found.reason


def test_the_mock_device_without_software_says_so(tree: Tree) -> None:
    found = probe(tree.host({"FLEX_DEVICE": "MOCK", "AIU_WORLD_SIZE": "1"}))
    assert found.verdict is Verdict.no_software
