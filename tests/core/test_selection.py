"""Choosing: explicit, then the variable, then the file, then priority, then name; the same on every run."""

from __future__ import annotations

from pathlib import Path

import pytest
from backend_site import Site
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from processes import Run

from accelplug import show
from accelplug.errors import BadInputError, DeviceUnusableError, UnknownDeviceError
from accelplug.selection import choose, require
from accelplug.settings import Settings, Sourced, read
from accelplug.specs import Candidate, Host, Selection, Verdict

BROKEN = "raise OSError('no')"


def sourced(**values: str) -> Sourced:
    return Sourced(Settings(**values), dict.fromkeys(values, "the test"))


@pytest.fixture
def three(site: Site) -> Site:
    """alpha and beta with priority 700, gamma with 800, all usable."""
    site.backend("beta", priority=700)
    site.backend("alpha", priority=700)
    site.backend("gamma", priority=800)
    return site


def test_the_order_is_argument_variable_file_priority_name(three: Site, cpu_only: Host, tmp_path: Path) -> None:
    config = tmp_path / "chosen.toml"
    config.write_text('device = "alpha"\n')
    file = {"ACCELPLUG_CONFIG": str(config)}
    both = file | {"ACCELPLUG_DEVICE": "beta"}

    def chosen(environ: dict[str, str], argument: str | None = None) -> tuple[str | None, str]:
        selection = choose(read(environ), argument, host=cpu_only)
        return selection.chosen, selection.decided_by

    assert chosen(both, "cpu") == ("cpu", "argument")
    assert chosen(both) == ("beta", "ACCELPLUG_DEVICE")
    assert chosen(both, "auto") == ("beta", "ACCELPLUG_DEVICE")
    assert chosen(file) == ("alpha", str(config))
    assert chosen({}) == ("gamma", "priority")
    three.backend("gamma", priority=1)
    assert chosen({}) == ("alpha", "name (equal priority)")


def test_candidates_are_in_the_order_of_preference(three: Site, cpu_only: Host) -> None:
    names = [*choose(sourced(), host=cpu_only).names()]
    assert names[:4] == ["gamma", "alpha", "beta", "cuda"]


def test_the_caller_can_say_how_it_was_asked(cpu_only: Host) -> None:
    assert choose(sourced(), "cpu", "--device", cpu_only).decided_by == "--device"


def test_a_caller_can_refine_a_usable_candidate(three: Site, cpu_only: Host) -> None:
    def too_old(candidate: Candidate) -> Candidate:
        return candidate.model_copy(update={"verdict": Verdict.no_software}) if candidate.name == "gamma" else candidate

    assert choose(sourced(), host=cpu_only, refine=too_old).chosen == "alpha"


def test_the_choice_is_the_same_for_every_hash_seed(three: Site, python: Run) -> None:
    code = "import accelplug; s = accelplug.devices(); print(s.chosen, s.decided_by, *s.names())"
    answers = {python(code, PYTHONPATH=str(three.folder), PYTHONHASHSEED=str(seed)).stdout for seed in range(6)}

    (answer,) = answers
    assert answer.startswith("gamma priority gamma alpha beta cuda ")


BACKENDS = st.dictionaries(
    st.sampled_from(["abacus", "zebra", "neutron", "nova", "spur"]),
    st.tuples(st.sampled_from(Verdict), st.integers(-2, 2)),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(backends=BACKENDS, cpu_fallback=st.sampled_from(["allow", "error"]))
def test_auto_is_the_usable_one_of_highest_priority_then_lowest_name_and_the_cpu_only_where_allowed(
    backends: dict[str, tuple[Verdict, int]], cpu_fallback: str, site: Site, cpu_only: Host
) -> None:
    site.clear()
    for name, (verdict, priority) in backends.items():
        site.backend(name, f"return Probe(verdict={str(verdict)!r}, reason='said so', count=1)", priority=priority)

    selection = choose(sourced(backends=",".join([*backends, "cpu"]), cpu_fallback=cpu_fallback), host=cpu_only)

    allowed = {name: priority for name, (verdict, priority) in backends.items() if verdict is Verdict.usable}
    if cpu_fallback == "allow":
        allowed["cpu"] = 0
    assert selection.chosen == min(allowed, key=lambda name: (-allowed[name], name), default=None)
    assert {c.name: c.verdict for c in selection.candidates if c.name in backends} == {
        name: verdict for name, (verdict, _) in backends.items()
    }


# what was asked for


def test_a_simulated_device_is_chosen_only_by_name(site: Site, cpu_only: Host) -> None:
    site.backend("mock", "return Probe(verdict='usable', reason='a stand-in', count=1, simulated=True)", priority=900)
    assert choose(sourced(), host=cpu_only).chosen == "cpu"
    assert choose(sourced(device="mock"), host=cpu_only).chosen == "mock"


def test_names_in_order_of_preference_end_on_the_first_usable(three: Site, cpu_only: Host) -> None:
    three.backend("beta", BROKEN)
    assert choose(sourced(), "beta,alpha,cpu", host=cpu_only).chosen == "alpha"


def test_a_named_device_that_is_not_usable_is_no_choice_and_an_error_with_all_verdicts(
    three: Site, cpu_only: Host
) -> None:
    selection = choose(sourced(device="cuda"), host=cpu_only)
    assert selection.chosen is None

    with pytest.raises(DeviceUnusableError) as caught:
        require(selection)
    message = str(caught.value)
    assert "device 'cuda' (from the test) is not usable" in message
    assert "no NVIDIA device node" in message
    assert "usable here: gamma, alpha, beta, cpu" in message
    assert (caught.value.exit_code, caught.value.selection) == (1, selection)


def test_the_error_says_what_to_do_where_hardware_is_seen(site: Site, cpu_only: Host) -> None:
    site.backend("acme", "return Probe(verdict='no_driver', reason='no permission', remedy='join the group')")
    with pytest.raises(DeviceUnusableError, match="what to do: join the group"):
        require(choose(sourced(), "acme", host=cpu_only))


@pytest.mark.parametrize(
    ("name", "meant"), [("nuron", "neuron"), ("CUDA", "cuda"), ("atuo", "auto"), ("cuda:0", "cuda")]
)
def test_an_unknown_name_is_an_error_with_the_nearest_one(cpu_only: Host, name: str, meant: str) -> None:
    with pytest.raises(UnknownDeviceError, match=rf"{name}.*--device.*did you mean '{meant}'.*known: auto,") as caught:
        choose(sourced(), name, "--device", cpu_only)
    assert caught.value.exit_code == 2


def test_an_unknown_name_is_an_error_even_behind_a_usable_one(cpu_only: Host) -> None:
    with pytest.raises(UnknownDeviceError, match="nuron"):
        choose(sourced(), "cpu,nuron", host=cpu_only)


@pytest.mark.parametrize("asked", ["auto,cpu", "cpu,auto", ","])
def test_auto_among_names_and_no_name_at_all_are_refused(cpu_only: Host, asked: str) -> None:
    with pytest.raises(BadInputError, match=asked):
        choose(sourced(), asked, host=cpu_only)


def test_a_machine_where_nothing_is_usable_has_no_choice(tmp_path: Path) -> None:
    selection = choose(sourced(backends="cpu,cuda"), host=Host(tmp_path, environ={}, site=[]))
    with pytest.raises(DeviceUnusableError, match="usable here: none"):
        require(selection)


def test_a_selection_of_a_real_host_survives_json(three: Site, cpu_only: Host) -> None:
    selection = choose(sourced(), host=cpu_only)
    assert Selection.model_validate_json(selection.model_dump_json()) == selection


def test_who_lost_is_said_to_be_available(three: Site, cpu_only: Host) -> None:
    outranked = choose(sourced(), host=cpu_only)
    assert show.reason(outranked["alpha"], outranked).startswith("available, outranked; there")
    not_asked = choose(sourced(), "cpu", host=cpu_only)
    assert show.reason(not_asked["alpha"], not_asked).startswith("available, not asked for; there")
    assert "passed over: alpha, beta, cpu (usable)" in show.headline(outranked)
