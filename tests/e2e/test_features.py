"""A part of what `make support` runs: features beside the CPU's, and what is refused at start."""

from __future__ import annotations

import pytest

from accelplug.sim import build
from tools.support.catalogue import STARTS, Feature
from tools.support.runs import CPU, Came, offline
from tools.support.verdicts import verdict

pytestmark = pytest.mark.e2e

COMPARED = ("text", "embeddings", "images", "n-gram drafts")  # after drafts, in-tree vLLM starts no more
REFUSED = ("LoRA", "latent", "other drafts", "sleep", "fp8 weights", "fp8 cache")


@pytest.fixture(scope="module")
def came(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Came]:
    """One process for each device."""
    build.library()
    folder = tmp_path_factory.mktemp("features")
    return {CPU: offline(CPU, folder, COMPARED), "neuron": offline("neuron", folder, COMPARED + REFUSED)}


@pytest.mark.parametrize(
    "feature", [one for name in COMPARED for one in STARTS[name].features], ids=lambda one: one.name
)
def test_a_feature_gives_what_it_gives_on_the_cpu(feature: Feature, came: dict[str, Came]) -> None:
    said = verdict(came["neuron"][feature.name], came[CPU][feature.name], feature.tolerance)
    assert said["outcome"] in ("same", "close"), said


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_at_start_with_its_option(name: str, came: dict[str, Came]) -> None:
    for feature in STARTS[name].features:
        assert came["neuron"][feature.name]["refused"].startswith(STARTS[name].flag)
