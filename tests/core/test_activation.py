"""auto() and select(): the chosen device is made live once, and the same one is given ever after."""

from __future__ import annotations

from pathlib import Path

import pytest
from backend_site import HEAD, Site

import accelplug
from accelplug.errors import ActivationError, BadInputError, DeviceUnusableError

LOADABLE = (
    HEAD
    + """
import os
def probe(host):
    if os.path.exists({gone!r}):
        return Probe(verdict="no_hardware", reason="gone")
    return Probe(verdict="usable", reason="there", count=2)

def load():
    with open({log!r}, "a") as log:
        log.write("loaded\\n")
    {load}

@hookimpl
def accelplug_device():
    return DeviceSpec(name={name!r}, title="", torch_type="cpu", priority=900, probe=probe, load=load)
"""
)


class Acme:
    """A backend with an SDK to load: ``log`` has a line for each load, ``gone`` makes its hardware vanish."""

    def __init__(self, site: Site, folder: Path, name: str, load: str = "") -> None:
        self.name, self.log, self.gone = name, folder / "log", folder / "gone"
        site.module(name, LOADABLE.format(name=name, log=str(self.log), gone=str(self.gone), load=load))

    @property
    def loads(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0


def test_auto_makes_the_best_device_live_and_looking_does_not(site: Site, tmp_path: Path) -> None:
    acme = Acme(site, tmp_path, "looked_at")

    assert accelplug.devices().chosen == "looked_at"
    accelplug.explain()
    assert acme.loads == 0
    assert accelplug.auto().name == "looked_at"
    assert acme.loads == 1


def test_auto_gives_the_same_device_again_even_if_the_probe_changes_its_mind(site: Site, tmp_path: Path) -> None:
    acme = Acme(site, tmp_path, "fickle")
    first = accelplug.auto()

    acme.gone.touch()

    assert accelplug.devices().chosen != "fickle"
    assert accelplug.auto() == first
    assert acme.loads == 1


def test_auto_chooses_anew_when_a_person_changes_the_settings(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Acme(site, tmp_path, "first_choice")
    assert accelplug.auto().name == "first_choice"

    monkeypatch.setenv("ACCELPLUG_DEVICE", "cpu")

    assert accelplug.auto().name == "cpu"


def test_select_loads_once_however_often_it_is_called(site: Site, tmp_path: Path) -> None:
    acme = Acme(site, tmp_path, "loaded_once")

    assert accelplug.select("loaded_once") == accelplug.select("loaded_once", "cpu") == accelplug.auto()
    assert acme.loads == 1


def test_a_device_says_what_it_is_and_why(site: Site, tmp_path: Path) -> None:
    Acme(site, tmp_path, "talkative")
    device = accelplug.select("talkative", index=1)

    assert repr(device) == "<accelplug device talkative as 'cpu:1', decided by argument>"
    assert device.selection["talkative"].reason == "there"
    assert "<table>" in device._repr_html_()
    assert device != accelplug.select("talkative")
    assert len({device, accelplug.select("talkative", index=1)}) == 1


def test_a_device_goes_where_torch_takes_a_device() -> None:
    import torch

    cpu = accelplug.select("cpu")
    assert torch.ones(1, device=cpu.torch_device).device == torch.device("cpu")


@pytest.mark.parametrize("index", [-1, 2])
def test_an_index_that_the_device_does_not_have_is_refused(site: Site, tmp_path: Path, index: int) -> None:
    acme = Acme(site, tmp_path, "two_cards")
    with pytest.raises(BadInputError, match=f"index {index} of two_cards: it has 2 usable devices, 0 to 1"):
        accelplug.select("two_cards", index=index)
    assert acme.loads == 0


def test_select_without_a_name_is_refused() -> None:
    with pytest.raises(BadInputError, match=r"use auto\(\)"):
        accelplug.select()


def test_a_device_that_is_not_usable_is_not_loaded(site: Site, tmp_path: Path) -> None:
    acme = Acme(site, tmp_path, "absent")
    acme.gone.touch()
    with pytest.raises(DeviceUnusableError, match="gone"):
        accelplug.select("absent")
    assert acme.loads == 0


@pytest.mark.parametrize("failure", ["raise OSError('undefined symbol: x')", "raise SystemExit('no licence')"])
def test_a_load_that_fails_is_an_error_with_its_cause_and_is_tried_again(
    site: Site, tmp_path: Path, failure: str
) -> None:
    acme = Acme(site, tmp_path, "unloadable", failure)
    for attempt in (1, 2):
        with pytest.raises(ActivationError, match=r"unloadable could not be made live: \w+: \w+") as caught:
            accelplug.auto()
        assert caught.value.__cause__ is not None
        assert acme.loads == attempt
