"""Choosing a simulation: profiles, what is wrong in them, and the backend's own probe on a simulated machine."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from backend_site import HEAD, Site

import accelplug
from accelplug.errors import BadInputError
from accelplug.sim import brought
from accelplug.sim.profile import find
from accelplug.specs import Verdict

OWN = 'name = "mychip"\ndevices = 3\n'


@pytest.fixture
def simulate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Sets ACCELPLUG_SIMULATE: the name of a backend with a profile, or the text of a profile."""

    def set_to(value: str) -> None:
        if "=" in value:
            path = tmp_path / "mychip.toml"
            path.write_text(value)
            value = str(path)
        monkeypatch.setenv("ACCELPLUG_SIMULATE", value)

    return set_to


@pytest.mark.parametrize(("name", "count"), [("neuron", 4), ("spyre", 1)])
def test_the_backends_own_probe_says_usable_and_the_report_says_simulated(
    simulate: Callable[[str], None], name: str, count: int
) -> None:
    simulate(name)

    selection = accelplug.devices()

    assert (selection.chosen, selection.decided_by) == (name, "ACCELPLUG_SIMULATE")
    candidate = selection[name]
    assert (candidate.verdict, candidate.count, candidate.simulated) == (Verdict.usable, count, True)
    assert candidate.reason.endswith(f"on a machine made from profile {name}")
    assert any("/dev/" in line for line in candidate.evidence)
    assert "torch_neuronx" not in sys.modules


def test_the_vendors_own_variables_count_on_the_simulated_machine(
    simulate: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate("neuron")
    monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", "0-1")
    assert accelplug.devices()["neuron"].count == 2

    monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", "9")
    selection = accelplug.devices()
    assert selection["neuron"].verdict is Verdict.hidden
    assert selection.chosen is None  # it was asked for: nothing else is taken in its place


def test_a_device_that_is_named_wins_over_the_simulation(
    simulate: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate("neuron")
    assert accelplug.devices("cpu").chosen == "cpu"
    monkeypatch.setenv("ACCELPLUG_DEVICE", "cpu")
    assert (accelplug.devices().chosen, accelplug.devices().decided_by) == ("cpu", "ACCELPLUG_DEVICE")


def test_without_the_setting_nothing_is_simulated() -> None:
    assert not any(candidate.simulated for candidate in accelplug.devices().candidates)


def test_a_profile_of_ones_own_is_a_backend(simulate: Callable[[str], None]) -> None:
    simulate(OWN)
    mychip = accelplug.devices()["mychip"]
    assert (mychip.verdict, mychip.count, mychip.simulated, mychip.torch_type) == ("usable", 3, True, "mychip")
    assert accelplug.devices().chosen == "mychip"


def test_a_profile_that_has_the_name_of_an_installed_backend_goes_underneath_it(
    simulate: Callable[[str], None], site: Site
) -> None:
    probe = "return Probe(verdict='usable', reason=host.read('/dev/acme0'), count=len(host.list('/dev', 'acme.')))"
    site.module(
        "acme",
        HEAD
        + f"def probe(host):\n    {probe}\n@hookimpl\ndef accelplug_device():\n"
        + "    return DeviceSpec(name='acme', title='', torch_type='acme', probe=probe, load=lambda: None)\n",
    )
    simulate('name = "acme"\ndevices = 2\n[machine.files]\n"/dev/acme{n}" = "card {n}"\n')

    acme = accelplug.devices()["acme"]

    assert (acme.count, acme.reason) == (2, "card 0, on a machine made from profile acme")


def test_a_backend_that_pytorch_has_in_tree_can_not_be_simulated(simulate: Callable[[str], None]) -> None:
    simulate('name = "cuda"\n')
    with pytest.raises(BadInputError, match="no SDK to stand in for"):
        accelplug.devices()


def test_a_base_is_taken_over_and_changed(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text('base = "neuron"\nmemory_bytes = 1000\n')
    small, neuron = find(str(path)), find("neuron")
    assert small == neuron.model_copy(update={"memory_bytes": 1000})
    assert small.memory_bytes != neuron.memory_bytes


def test_an_edited_profile_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "edited.toml"
    path.write_text(OWN)
    assert find(str(path)).devices == 3
    path.write_text('name = "mychip"\ndevices = 4\n')
    os.utime(path, ns=(1, 1))
    assert find(str(path)).devices == 4


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("neurn", "did you mean 'neuron'.*known: neuron, spyre"),
        ("nowhere/mychip.toml", "not a file"),
        ('name = "x"\nmemory = 3\n', "unknown key 'memory'; did you mean 'memory_bytes'"),
        ('title = "x"\n', "name is missing"),
        ('name = "x"\ndtypes = ["float23"]\n', "unknown dtype 'float23'; did you mean 'float32'"),
        ('name = "x"\ncasts = { float32 = "int8" }\n', "float32 = 'int8' is not simulated; known: int64 = int32"),
        ('name = "x"\ndevices = 0\n', "devices = 0"),
        ('name = "x"\n[machine.files]\n"/dev/../x" = ""\n', "without \\.\\."),
        ('name = "x"\n[machine.files]\n"/dev/{m}" = ""\n', "only {} there may be is {n}"),
        ('base = "neurn"\nname = "x"\n', "base = 'neurn' is no backend's profile; did you mean 'neuron'"),
        ("name = x\n", "line 1"),
    ],
)
def test_what_is_wrong_is_said_with_what_is_right(simulate: Callable[[str], None], text: str, complaint: str) -> None:
    simulate(text)
    with pytest.raises(BadInputError, match="ACCELPLUG_SIMULATE") as caught:
        accelplug.devices()
    assert re.search(complaint, str(caught.value)), caught.value


def test_the_profile_that_a_backend_brings_is_valid_and_has_its_name() -> None:
    assert {name: find(name).name for name in brought.profiles()} == {"neuron": "neuron", "spyre": "spyre"}


def test_a_third_partys_backend_brings_its_profile_and_is_not_imported_for_it(
    simulate: Callable[[str], None], site: Site
) -> None:
    package = site.folder / "acme_package"
    (package / "accelplug").mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('imported')\n")
    (package / "accelplug" / "profile.toml").write_text('base = "spyre"\nname = "acme"\ndevices = 2\n')
    site.metadata("acme-backend", "acme", "acme_package.accelplug")

    assert (find("acme").name, find("acme").devices, find("acme").dtypes) == ("acme", 2, find("spyre").dtypes)
    assert "acme_package" not in sys.modules
    simulate("acmee")
    with pytest.raises(BadInputError, match="did you mean 'acme'"):
        accelplug.devices()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('base = "acme"\n', "base = 'acme' ends in this file again; start from another profile"),
        ('base = "spyre"\n', "name = 'spyre', but the backend that brings it is 'acme'"),
    ],
)
def test_a_backends_profile_that_is_no_chip_of_its_own_is_refused(text: str, complaint: str, site: Site) -> None:
    package = site.folder / "acme_package"
    package.mkdir()
    (package / "profile.toml").write_text(text)
    site.metadata("acme-backend", "acme", "acme_package")
    with pytest.raises(BadInputError, match=complaint):
        find("acme")
