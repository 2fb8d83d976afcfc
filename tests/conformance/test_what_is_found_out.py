"""Conformance can fail: wrong answers, missing operators, crashes, hangs and bad ends are each found, and named."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import broken_chip
import psutil
import pytest
from backend_site import Site

from accelplug.conformance import Check, ConformanceReport, Outcome, processes

Examine = Callable[..., ConformanceReport]


def by_name(report: ConformanceReport, area: str) -> dict[str, Check]:
    return {check.name: check for check in report[area].checks}


def test_a_wrong_answer_and_a_missing_operator_are_named_and_the_others_pass(site: Site, examine: Examine) -> None:
    broken_chip.install(site)

    report = examine("acme", profile=broken_chip.PROFILE, areas=["ops"], only=["sin", "trunc", "tanh"])

    assert (report.ok, report.simulated, report.backend) == (False, True, "acme-accelplug 1.2.3")
    found = by_name(report, "ops")
    assert (found["sin"].outcome, found["sin"].data["forward"]) == (Outcome.failed, "wrong")
    assert "Greatest absolute difference: 1" in found["sin"].why
    assert (found["trunc"].outcome, found["trunc"].data["forward"]) == (Outcome.error, "error")
    assert "there is no aten::trunc for acme" in found["trunc"].why
    assert found["tanh"].outcome is Outcome.passed
    assert {check.name for check in report.wrong()} == {"sin", "trunc"}
    assert all(check.remedy for check in report.wrong())


def test_a_crash_is_an_error_of_its_check_and_those_behind_it_still_run(site: Site, examine: Examine) -> None:
    broken_chip.install(site)

    found = by_name(
        examine("acme", profile=broken_chip.PROFILE, areas=["decompositions"], only=["aten.*"]), "decompositions"
    )

    assert found["aten.relu.default"].outcome is Outcome.passed
    crashed = found["aten.sinc.default"]
    assert crashed.outcome is Outcome.error
    assert "the process was ended by SIGABRT" in crashed.why
    assert "acme: assertion failed in the compiler" in crashed.why
    assert "accelplug conform acme --area decompositions --only 'aten.sinc.default'" in crashed.remedy
    assert found["aten.sgn.default"].outcome is Outcome.failed
    assert found["aten.trunc.default"].outcome is Outcome.passed


def test_a_probe_that_hangs_fails_and_the_rest_is_left_out(examine: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELPLUG_PROBE_TIMEOUT", "0.2")

    report = examine("mychip", profile='name = "mychip"\n[faults]\nprobe_seconds = 5\n', areas=["probe", "rng"])

    assert (report.ok, report.verdict) == (False, "timeout")
    (probe,), (rng,) = report["probe"].checks, report["rng"].checks
    assert (probe.outcome, rng.outcome) == (Outcome.failed, Outcome.skipped)
    assert "longer than 0.2 s" in probe.why
    assert "ACCELPLUG_PROBE_TIMEOUT" in probe.remedy


def test_a_slow_probe_is_slow_and_usable(examine: Examine) -> None:
    report = examine("mychip", profile='name = "mychip"\n[faults]\nprobe_seconds = 0.2\n', areas=["probe"])
    (slow,) = report.wrong()
    assert slow.name == "the probe answers within 50 ms"
    took = re.match(r"it took ([\d.]+) ms at best; the limit is 50 ms", slow.why)
    assert took, slow.why
    assert float(took[1]) >= 200


def test_a_process_that_ends_badly_after_its_last_check_is_found(site: Site, examine: Examine) -> None:
    broken_chip.install(site, load="import atexit; atexit.register(os._exit, 7)")

    checks = examine("acme", profile=broken_chip.PROFILE, areas=["rng"], only=["a seed*"])["rng"].checks

    assert [check.outcome for check in checks] == [Outcome.passed, Outcome.error]
    assert checks[1].name == "the process ends well"
    assert "after its last check the process ended with code 7" in checks[1].why


def test_an_sdk_that_does_not_load_is_an_error_of_each_area_with_its_words(site: Site, examine: Examine) -> None:
    broken_chip.install(site, load="raise OSError('undefined symbol: acme_open')")

    report = examine("acme", profile=broken_chip.PROFILE, areas=["rng", "saving"])

    assert [check.name for check in report.wrong()] == ["the process of the checks starts"] * 2
    assert all("undefined symbol: acme_open" in check.why for check in report.wrong())


def test_what_takes_too_long_is_stopped(site: Site, examine: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    broken_chip.install(site, load="import time; time.sleep(60)")
    monkeypatch.setattr(processes, "START_LIMIT", 3.0)

    (stopped,) = examine("acme", profile=broken_chip.PROFILE, areas=["rng"])["rng"].checks

    assert stopped.outcome is Outcome.error
    assert stopped.why.startswith("took longer than 3 s and was stopped")


def test_an_all_reduce_that_does_nothing_is_found(site: Site, examine: Examine) -> None:
    broken_chip.install(site, load="import torch.distributed; torch.distributed.all_reduce = lambda *given: None")

    checks = examine("acme", profile=broken_chip.PROFILE, areas=["distributed"], only=["all reduce", "broadcast"])

    found = by_name(checks, "distributed")
    assert (found["all reduce"].outcome, found["all reduce"].why) == (Outcome.failed, "rank 0: the values are wrong")
    assert found["broadcast"].outcome is Outcome.passed


def test_a_command_that_is_told_to_stop_leaves_no_process(site: Site, library: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    broken_chip.install(site, load=f"open({str(there)!r}, 'w').write(str(os.getpid())); import time; time.sleep(60)")
    (tmp_path / "acme.toml").write_text(broken_chip.PROFILE)
    environ = {"ACCELPLUG_SIMULATE": str(tmp_path / "acme.toml"), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = subprocess.Popen(
        [sys.executable, "-m", "accelplug", "conform", "acme", "--area", "rng"], env={**os.environ, **environ}
    )
    try:
        wait_until(lambda: there.exists() and there.read_text() != "")
        command.terminate()
        assert command.wait(20) == 128 + signal.SIGTERM
        wait_until(lambda: not psutil.pid_exists(int(there.read_text())))
    finally:
        command.kill()


def wait_until(holds: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_memory_that_does_not_run_out_is_found(site: Site, examine: Examine) -> None:
    broken_chip.install(site, load="torch.accelerator.get_memory_info = lambda *given: (1 << 20, 1 << 20)")

    (found,) = examine("acme", profile=broken_chip.PROFILE, areas=["memory"], only=["running out*"])["memory"].checks

    assert found.outcome is Outcome.failed
    assert found.why == "2097152 bytes were allocated on a device that says it has 1048576"


def test_a_lost_device_is_an_error_of_each_check_that_needs_it(examine: Examine) -> None:
    profile = 'name = "mychip"\n[faults]\nlost_at_call = 1\n'
    checks = examine("mychip", profile=profile, areas=["rng"], only=["a seed*", "a state*"])["rng"].checks
    assert [check.outcome for check in checks] == [Outcome.error] * 2
    assert all("mychip:0 (simulated) is lost" in check.why for check in checks)
