"""How many logical cores the variables leave.

On folders that look like machines; nothing here has seen the hardware.
"""

from __future__ import annotations

import re

import pytest
from accelplug_neuron import cores
from hypothesis import given
from hypothesis import strategies as st
from neuron_machines import TRN2, add_machine, add_software, probe
from trees import Tree

from accelplug.specs import Probe, Verdict


def trn2(tree: Tree, **environ: str) -> Probe:
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    add_software(tree)
    return probe(tree.host(environ))


@pytest.mark.parametrize(
    ("environ", "count"),
    [
        ({"NEURON_RT_VISIBLE_CORES": "0-3"}, 4),
        ({"NEURON_RT_VISIBLE_CORES": "0,2"}, 2),
        ({"NEURON_RT_VISIBLE_CORES": " 0-3, 63 "}, 5),
        ({"NEURON_RT_VISIBLE_CORES": "63"}, 1),
        ({"NEURON_RT_NUM_CORES": "8"}, 8),
        ({"NEURON_RT_NUM_CORES": "64"}, 64),
        ({"NEURON_RT_VISIBLE_CORES": "0-3", "NEURON_RT_NUM_CORES": "8"}, 4),
        ({"NEURON_LOGICAL_NC_CONFIG": "1"}, 128),
        ({"NEURON_LOGICAL_NC_CONFIG": "1", "NEURON_RT_VISIBLE_CORES": "64-127"}, 64),
    ],
)
def test_variables_limit_the_logical_cores(tree: Tree, environ: dict[str, str], count: int) -> None:
    found = trn2(tree, **environ)
    assert (found.verdict, found.count) == (Verdict.usable, count)


def test_a_limited_count_says_what_limits_it(tree: Tree) -> None:
    found = trn2(tree, NEURON_RT_VISIBLE_CORES="0-3")
    assert found.reason == "16 trn2 devices, 4 logical cores of 64, by NEURON_RT_VISIBLE_CORES='0-3' (LNC 2)"


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        ("NEURON_RT_VISIBLE_CORES", "64-67", "absent: 64-67; the logical cores here are 0-63"),
        ("NEURON_RT_VISIBLE_CORES", "0,64", "absent: 64;"),
        ("NEURON_RT_VISIBLE_CORES", "", "names no core"),
        ("NEURON_RT_VISIBLE_CORES", "a-b", "'a-b' is neither a core (2) nor a range (0-3)"),
        ("NEURON_RT_VISIBLE_CORES", "0,,2", "'' is neither"),
        ("NEURON_RT_VISIBLE_CORES", "-1", "'-1' is neither"),
        ("NEURON_RT_VISIBLE_CORES", "3-0", "the range 3-0 runs backwards"),
        ("NEURON_RT_VISIBLE_CORES", "0-99999999999", "no machine has a core 99999999999"),
        ("NEURON_RT_NUM_CORES", "65", "must be a number from 1 to 64"),
        ("NEURON_RT_NUM_CORES", "0", "must be a number from 1 to 64"),
        ("NEURON_RT_NUM_CORES", "all", "must be a number from 1 to 64"),
        ("NEURON_LOGICAL_NC_CONFIG", "3", "must be 1 or 2 on trn2"),
        ("NEURON_LOGICAL_NC_CONFIG", "", "must be 1 or 2 on trn2"),
    ],
)
def test_what_the_runtime_would_refuse_is_hidden_and_names_the_variable(
    tree: Tree, variable: str, value: str, problem: str
) -> None:
    found = trn2(tree, **{variable: value})
    assert (found.verdict, found.count) == (Verdict.hidden, 0)
    assert f"16 trn2 devices, hidden by {variable}={value!r}: " in found.reason
    assert problem in found.reason
    assert found.remedy == f"unset {variable}, or correct it"


def pod(tree: Tree, devices: range, **environ: str) -> Probe:
    """A container on a trn2.48xlarge with some of its devices, and sysfs that shows all of them."""
    add_machine(tree, "trn2.48xlarge", TRN2, 16)
    add_software(tree)
    for number in {*range(16)} - {*devices}:
        (tree.root / f"dev/neuron{number}").unlink()
    return probe(tree.host({"AWS_NEURON_VISIBLE_DEVICES": f"{devices[0]}-{devices[-1]}"} | environ))


def test_a_pod_counts_its_own_devices_not_those_of_the_machine(tree: Tree) -> None:
    found = pod(tree, range(4, 8))
    assert (found.count, found.details["devices"]) == (16, "4 of 16")
    assert "AWS_NEURON_VISIBLE_DEVICES (what the container was given): '4-7'" in found.evidence


@pytest.mark.parametrize("visible", ["0-3", "16-19"])
def test_a_pod_may_call_its_cores_by_either_numbering(tree: Tree, visible: str) -> None:
    assert pod(tree, range(4, 8), NEURON_RT_VISIBLE_CORES=visible).count == 4


def test_a_pod_that_names_another_pods_cores_is_hidden(tree: Tree) -> None:
    found = pod(tree, range(4, 8), NEURON_RT_VISIBLE_CORES="32-35")
    assert found.verdict is Verdict.hidden
    assert "hidden by NEURON_RT_VISIBLE_CORES='32-35': absent: 32-35; the logical cores here are 0-31" in found.reason


# the parser


@given(st.sets(st.integers(0, 600), min_size=1))
def test_formatted_cores_parse_to_the_same_cores(ids: set[int]) -> None:
    assert cores.parse_cores(cores.format_cores(ids)) == ids


@given(st.lists(st.integers(0, 600), min_size=1), st.sampled_from([",", " ,", ", "]))
def test_listed_cores_parse_in_any_order_spacing_and_number(ids: list[int], comma: str) -> None:
    assert cores.parse_cores(comma.join(map(str, ids))) == set(ids)


@given(st.text(alphabet="0123456789-, x٣", max_size=12))
def test_any_text_is_cores_or_a_setting_error(text: str) -> None:
    entry = r"\s*[0-9]+(-[0-9]+)?\s*"
    if not re.fullmatch(f"{entry}(,{entry})*", text):
        with pytest.raises(cores.SettingError, match=r"^NEURON_RT_VISIBLE_CORES="):
            cores.parse_cores(text)
        return
    try:
        ids = cores.parse_cores(text)
    except cores.SettingError:
        numbers = [[int(number) for number in part.split("-")] for part in text.split(",")]
        wrong = [part for part in numbers if part[0] > part[-1] or part[-1] > cores.LAST_CORE]
        assert wrong, f"refused {text!r}, in which nothing is wrong"
    else:
        assert {int(number) for number in re.findall("[0-9]+", text)} <= ids


@given(st.sets(st.integers(0, 15), min_size=1), st.integers(1, 8))
def test_every_device_brings_its_cores_by_place_and_by_number(devices: set[int], per_device: int) -> None:
    ids = cores.logical_ids(sorted(devices), per_device)
    assert set(range(len(devices) * per_device)) <= ids
    assert all({number * per_device, (number + 1) * per_device - 1} <= ids for number in devices)


@given(st.data())
def test_visible_cores_never_count_more_than_there_are(data: st.DataObject) -> None:
    devices = sorted(data.draw(st.sets(st.integers(0, 15), min_size=1)))
    ids = cores.logical_ids(devices, 4)
    named = data.draw(st.sets(st.sampled_from(sorted(ids)), min_size=1))
    count = cores.visible({cores.VISIBLE_CORES: cores.format_cores(named)}, ids, len(devices) * 4)
    assert 1 <= count <= min(len(named), len(devices) * 4)
