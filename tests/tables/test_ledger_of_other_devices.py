"""The ledger of devices whose SDK counts less than the simulator, or nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from backend_site import HEAD, USABLE, Site

import accelplug
from accelplug.errors import AccelplugError, BadInputError
from accelplug.specs import Budget, DeviceSpec, FallbackSource, OpCount, Probe, Verdict
from accelplug.tables import fallback


def spec(in_tree: bool = False) -> DeviceSpec:
    probe = Probe(verdict=Verdict.usable, reason="one Acme card", count=1)
    load = None if in_tree else lambda: None
    return DeviceSpec(name="acme", title="Acme One", torch_type="acme", probe=lambda host: probe, load=load)


@pytest.fixture(autouse=True)
def no_ledgers() -> Iterator[None]:
    fallback.forget()
    yield
    fallback.forget()


NAMES = FallbackSource(read=lambda: [OpCount(op="aten::cumsum", native=False)], reset=lambda: None)


HOOK = f"""{HEAD}
from accelplug.specs import FallbackSource, OpCount

@hookimpl
def accelplug_device():
    def probe(host):
        {USABLE}
    return DeviceSpec(name="counting", title="", torch_type="cpu", probe=probe, load=lambda: None)

@hookimpl
def accelplug_fallbacks():
    counts = [OpCount(op="aten::mm", native=True, calls=3, bytes=12), OpCount(op="aten::sort", native=False, calls=1)]
    return FallbackSource(read=lambda: counts, reset=counts.clear)
"""


def test_a_vendors_sdk_is_asked_through_the_hook_once_the_device_is_live(site: Site) -> None:
    site.module("counting", HOOK)
    accelplug.select("counting")
    report = accelplug.fallback_report(reset=True)
    assert (report.device, report.native_share, report.native_bytes) == ("counting", 0.75, 12)
    assert [(row.op, row.calls, row.bytes) for row in report.rows] == [("aten::sort", 1, None)]
    assert accelplug.fallback_report().rows == ()


def test_without_a_live_device_there_is_nothing_to_report() -> None:
    with pytest.raises(AccelplugError, match=r"no device is live in this process.*accelplug.auto\(\) comes first"):
        accelplug.fallback_report()


def test_a_device_of_pytorchs_own_falls_back_nowhere_and_any_policy_holds() -> None:
    fallback.begin(spec(in_tree=True), None)
    with accelplug.fallback(policy="error", calls=0, time=True):
        report = accelplug.fallback_report()
    assert not report.counted
    assert report.notes == ("PyTorch has acme in tree: where it has no kernel it raises, and nothing falls back",)


def test_a_device_whose_sdk_counts_nothing_says_so_and_refuses_what_it_can_not_keep() -> None:
    fallback.begin(spec(), None)
    assert accelplug.fallback_report().notes == ("the SDK of acme does not count what falls back",)
    for given, said in (
        ({"policy": "error"}, "policy 'error' is not possible on acme"),
        ({"policy": "warn"}, "policy 'warn' is not possible on acme"),
        ({"calls": 3}, "budget calls=3 is not possible on acme"),
        ({"time": True}, "time can't be measured on acme"),
    ):
        with pytest.raises(BadInputError, match=said), accelplug.fallback(**given):  # type: ignore[arg-type]
            pass


def test_a_policy_in_the_settings_that_the_sdk_can_not_keep_is_said_when_the_device_is_made_live(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ACCELPLUG_FALLBACK", "error")
    for _ in range(2):  # and again at the next try
        with pytest.raises(BadInputError, match="policy 'error' is not possible on acme"):
            fallback.begin(spec(), NAMES)


def test_names_without_numbers_are_rows_without_numbers() -> None:
    fallback.begin(spec(), NAMES)
    report = accelplug.fallback_report()
    (row,) = report.rows
    assert (row.op, row.calls, row.bytes, row.reason) == ("aten::cumsum", None, None, "no kernel on the device")
    assert report.native_share is None
    assert "the SDK of acme names the operators that fell back, and counts nothing" in report.notes


def test_the_ledger_of_a_device_begins_once() -> None:
    fallback.begin(spec(), NAMES)
    fallback.begin(spec(), None)
    assert accelplug.fallback_report().counted


def test_a_reason_of_the_sdk_is_said_as_it_is() -> None:
    counts = [OpCount(op="aten::mm", native=False, calls=1, reason="vendor error 7")]
    fallback.begin(spec(), FallbackSource(read=lambda: counts, reset=lambda: None))
    assert accelplug.fallback_report().rows[0].reason == "vendor error 7"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"policy": "warm"}, "policy 'warm' is unknown; did you mean 'warn'"),
        ({"calls": -1}, "-1"),
        ({"bytes": "-4"}, "'-4'"),
        ({"ops": {"fill_": 0}}, "'fill_' is no operator's name such as aten::fill_"),
        ({"ops": {"aten::mm": "4"}}, "one is calls=N or bytes=N"),
    ],
)
def test_a_bad_argument_is_said_before_a_device_is_needed(given: dict[str, object], said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        accelplug.fallback(**given)  # type: ignore[arg-type]


def test_a_scope_that_fails_leaves_nothing_behind() -> None:
    lifted = []

    def limit(budget: Budget) -> object:
        if budget.limit == 2:
            raise ValueError("too many")
        return lambda: lifted.append(budget)

    fallback.begin(spec(), FallbackSource(read=list, reset=lambda: None, limit=limit))
    with pytest.raises(ValueError, match="too many"), accelplug.fallback(calls=1, ops={"aten::mm": 2}):
        pass
    assert lifted == [Budget(unit="calls", limit=1)]
    assert accelplug.fallback_report().budgets == ()
