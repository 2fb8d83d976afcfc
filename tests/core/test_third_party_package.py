"""A vendor's package is installed by pip into an environment, and accelplug there finds it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from processes import Run

from tools.installing import install

PACKAGES = Path(__file__).parents[1] / "packages"
LOOK = "import accelplug; print(accelplug.devices().model_dump_json())"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder that pip has installed a good package and a broken one into."""
    return install(PACKAGES / "acme", PACKAGES / "acme_broken", into=tmp_path_factory.mktemp("environment"))


@pytest.fixture
def cards(tmp_path: Path) -> str:
    """A folder with the nodes of two Acme cards."""
    folder = tmp_path / "dev"
    folder.mkdir()
    for name in ("acme0", "acme1"):
        (folder / name).touch()
    return str(folder)


def test_it_is_found_and_chosen_where_its_cards_are(environment: str, cards: str, python: Run) -> None:
    selection = json.loads(python(LOOK, PYTHONPATH=environment, ACME_DEV=cards).stdout)

    assert selection["chosen"] == "acme"
    (acme,) = [c for c in selection["candidates"] if c["name"] == "acme"]
    assert (acme["verdict"], acme["reason"], acme["count"]) == ("usable", "2 Acme cards", 2)
    assert acme["distribution"] == "acme-accelplug 1.2.3"


def test_it_is_passed_over_where_there_are_none(environment: str, python: Run) -> None:
    selection = json.loads(python(LOOK, PYTHONPATH=environment).stdout)

    verdicts = {c["name"]: c["verdict"] for c in selection["candidates"]}
    assert verdicts["acme"] == "no_hardware"
    assert selection["chosen"] not in (None, "acme")


def test_a_broken_package_next_to_it_does_not_hurt_it(environment: str, cards: str, python: Run) -> None:
    done = python(LOOK, PYTHONPATH=environment, ACME_DEV=cards)

    selection = json.loads(done.stdout)
    assert selection["chosen"] == "acme"
    (broken,) = [c for c in selection["candidates"] if c["name"] == "broken"]
    assert broken["verdict"] == "broken"
    assert "acme_broken.py" in broken["error"]
    assert "acme-broken 0.9" in done.stderr
    assert "undefined symbol" in done.stderr


def test_tensors_go_on_its_device(environment: str, cards: str, python: Run) -> None:
    code = "import accelplug, torch; print(torch.ones(2, device=accelplug.auto().torch_device).sum().item())"

    assert python(code, PYTHONPATH=environment, ACME_DEV=cards).stdout == "2.0\n"
