"""What Spyre cards ask of tensors and can't do."""

from __future__ import annotations

import accelplug_spyre
import pytest

from accelplug.sim.profile import find
from accelplug.specs import Capabilities, Constraints, Feature, Probe, Verdict

FOUND = Probe(verdict=Verdict.usable, reason="", count=1)


@pytest.fixture
def rules() -> Constraints:
    return accelplug_spyre.accelplug_constraints(FOUND)


def test_a_stick_holds_64_halves_or_32_integers(rules: Constraints) -> None:
    assert [rules.unit(dtype) for dtype in ("float16", "float32", "int32", "int8")] == [64, 32, 32, 128]


def test_int64_takes_as_much_as_the_int32_that_it_is_held_as(rules: Constraints) -> None:
    assert rules.padded((3, 40), "int64") == (3, 64)


def test_float64_is_not_on_the_device(rules: Constraints) -> None:
    with pytest.raises(ValueError, match="float64 can't be on the device; it holds bool, "):
        rules.padded((3, 40), "float64")


def test_models_run_in_float16_with_heads_and_blocks_of_whole_sticks(rules: Constraints) -> None:
    assert rules.preferred_dtype == "float16"
    stick = rules.unit("float16")
    assert all(size % stick == 0 for size in (rules.head_multiple, rules.block_multiple, *rules.buckets))


def test_the_simulated_card_keeps_the_same_rules(rules: Constraints) -> None:
    profile = find("spyre")
    assert (profile.casts, profile.alignment_bytes) == (rules.casts, rules.alignment_bytes)
    assert profile.static_shapes == rules.static_shapes
    assert set(rules.dtypes) == set(profile.dtypes)


def test_each_thing_that_it_can_not_do_has_a_reason() -> None:
    found: Capabilities = accelplug_spyre.accelplug_capabilities(FOUND)
    assert {Feature.lora, Feature.speculative_decoding, Feature.data_parallel, Feature.mla} <= found.cannot.keys()
    assert all(len(reason) > 20 for reason in found.cannot.values())


def test_a_missing_collective_is_not_listed() -> None:
    collectives = accelplug_spyre.accelplug_capabilities(FOUND).collectives
    assert collectives is not None
    assert "all_reduce" in collectives
    assert "reduce_scatter" not in collectives
