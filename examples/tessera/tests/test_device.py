"""The backend on a simulated device: its own probe and `load` run, on a machine and an SDK made from profile.toml."""

from __future__ import annotations

import accelplug
import pytest
from accelplug import conformance

# Of `accelplug conform tessera`, what is quick.
AREAS = ["probe", "registration", "tensors", "ops", "shutdown"]


@pytest.fixture(autouse=True)
def _simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELPLUG_SIMULATE", "tessera")


def test_it_is_chosen_and_everybody_is_told_that_it_is_simulated() -> None:
    selection = accelplug.devices()
    found = selection["tessera"]
    assert (selection.chosen, found.simulated) == ("tessera", True), found.reason


def test_a_sample_of_what_pytorch_needs_works() -> None:
    report = conformance.run("tessera", areas=AREAS, quick=True)
    wrong = [f"{check.area}, {check.name}: {check.why}" for check in report.wrong()]
    assert report.ok, "\n".join(wrong)
