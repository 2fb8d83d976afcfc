"""The records that cross the stages: frozen, strict, and good to look at."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from accelplug.specs import AttentionSpec, Candidate, DeviceSpec, Explanation, Host, Probe, RanOn, Selection, Verdict


def candidate(name: str, verdict: str = "usable", **more: object) -> Candidate:
    return Candidate(**{"name": name, "title": name.title(), "verdict": verdict, "reason": "because", **more})


def selection(*candidates: Candidate, chosen: str | None) -> Selection:
    return Selection(chosen=chosen, candidates=candidates, decided_by="priority")


NVIDIA = candidate("cuda", "no_driver", priority=500, remedy="install <the driver>", evidence=("/dev/nvidia0",))
CPU = candidate("cpu", count=1, ran_on="hardware")
CHOICE = selection(NVIDIA, CPU, chosen="cpu")


def test_a_record_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        CPU.verdict = Verdict.broken


def test_a_record_refuses_a_field_it_does_not_know() -> None:
    with pytest.raises(ValidationError, match="reson"):
        Probe(verdict="usable", reason="there", count=1, reson="there")


def test_a_probe_cannot_be_usable_without_a_device() -> None:
    with pytest.raises(ValidationError, match="count of at least 1"):
        Probe(verdict="usable", reason="the SDK imports")


def test_attention_is_replaced_wholly_or_in_its_computation() -> None:
    with pytest.raises(ValidationError, match=r"'acme\.Attention' replaces all of accelplug's attention"):
        AttentionSpec(backend="acme.Attention", compute=lambda query, key, value, bias, scale: query)


def test_a_device_name_is_one_that_can_be_typed() -> None:
    with pytest.raises(ValidationError, match="name"):
        DeviceSpec(name="My Device", title="", torch_type="cpu", probe=lambda host: None)


def test_a_selection_survives_json() -> None:
    assert Selection.model_validate_json(CHOICE.model_dump_json()) == CHOICE


def test_a_candidate_is_found_by_name() -> None:
    assert CHOICE["cuda"] is NVIDIA
    assert [*CHOICE.names()] == ["cuda", "cpu"]
    with pytest.raises(KeyError):
        CHOICE["neuron"]


def test_a_selection_prints_as_a_headline_and_a_table() -> None:
    headline, _, columns, cuda, cpu = str(CHOICE).splitlines()

    assert headline == "device cpu, decided by priority: because; passed over: cuda (no_driver)"
    assert columns.split() == ["device", "verdict", "devices", "probe", "reason"]
    assert cuda.split() == ["cuda", "no_driver", "-", "0.0", "ms", "because"]
    assert cpu.split() == ["→", "cpu", "usable", "1", "0.0", "ms", "because"]
    assert repr(CHOICE) == str(CHOICE)


def test_the_headline_says_when_there_is_no_choice() -> None:
    assert str(selection(NVIDIA, chosen=None)).startswith("no usable device for 'auto' (asked by priority)")


def test_the_headline_names_a_broken_backend_whatever_its_priority() -> None:
    broken = candidate("acme", "broken", priority=-1)

    assert "passed over: acme (broken)" in str(selection(CPU, broken, chosen="cpu"))


def test_simulated_and_unproven_devices_are_labelled() -> None:
    simulated = candidate("neuron", simulated=True, count=1)
    unproven = candidate("acme", ran_on=RanOn.simulator, count=1)

    text = str(selection(simulated, unproven, chosen="neuron"))
    assert "device neuron (simulated)" in text
    assert "because; simulated" in text
    assert "not proven on hardware: accelplug has run it on the simulator only" in text


def test_an_explanation_has_all_that_is_known_of_each_candidate() -> None:
    broken = candidate(
        "acme", "broken", error="Traceback:\n  OSError", distribution="acme 1.2.3", details={"sdk": "2.0"}
    )
    text = str(
        Explanation(selection=selection(NVIDIA, broken, chosen=None), settings={"device": "acme (ACCELPLUG_DEVICE)"})
    )

    for part in ("install <the driver>", "/dev/nvidia0", "OSError", "acme 1.2.3, priority 0", "2.0", "device = acme ("):
        assert part in text


def test_html_is_escaped() -> None:
    nasty = candidate(
        "acme", "broken", remedy="<b>", error="<script>", title="<i>", details={"<k>": "<v>"}, evidence=("<e>",)
    )
    nasty = nasty.model_copy(update={"reason": "<script>"})
    choice = selection(nasty, chosen=None)

    for html in (choice._repr_html_(), Explanation(selection=choice)._repr_html_()):
        assert "&lt;script&gt;" in html
        for tag in ("<script", "<b>", "<i>", "<k>", "<v>", "<e>"):
            assert tag not in html


def test_a_verdict_prints_as_its_name() -> None:
    assert f"{Verdict.no_driver} {RanOn.nothing}" == "no_driver nothing"


def test_a_hosts_view_makes_the_same_host() -> None:
    host = Host("/tree", environ={}, site=["/site"], system="Linux", machine="riscv64", uid=7, groups=[3, 1])

    assert Host(**host.view()).view() == host.view()
