"""Probing: whatever a backend's probe does, it costs its own verdict only, and a bounded time."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from backend_site import Site
from processes import ends

from accelplug.probing import probe_all
from accelplug.settings import Settings
from accelplug.specs import Candidate, Host, Verdict

FOREVER = "import time; time.sleep(60)"


def probed(name: str, timeout: float = 5.0, host: Host | None = None) -> Candidate:
    """The candidate of one backend, with all others but the CPU kept out."""
    candidates = probe_all(Settings(backends=f"{name},cpu", probe_timeout=timeout), host)
    by_name = {candidate.name: candidate for candidate in candidates}
    assert by_name["cpu"].verdict is Verdict.usable, "the others still answer"
    return by_name[name]


def test_a_probes_answer_becomes_a_candidate(site: Site) -> None:
    probe = "return Probe(verdict='usable', reason='2 cards', count=2, details={'sdk': '3'}, evidence=('/dev/acme0',))"
    site.backend("acme", probe, priority=7)

    acme = probed("acme")
    assert (acme.verdict, acme.reason, acme.count, acme.priority) == (Verdict.usable, "2 cards", 2, 7)
    assert (acme.details, acme.evidence, acme.distribution) == ({"sdk": "3"}, ("/dev/acme0",), "acme-backend 1.2.3")
    assert acme.probe_ms > 0
    assert acme.error == ""


@pytest.mark.parametrize(
    ("probe", "reason"),
    [
        ("raise OSError('undefined symbol: x')", "OSError: undefined symbol: x"),
        ("raise SystemExit(1)", "SystemExit: 1"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("return True", "TypeError: the probe must return a Probe, got True"),
        ("return Probe(verdict='usable', reason='none', count=0)", "count of at least 1"),
        ("return Probe(verdict='fine', reason='')", "verdict"),
    ],
)
@pytest.mark.parametrize("isolated", [False, True])
def test_a_probe_that_fails_is_broken_with_its_reason(site: Site, probe: str, reason: str, isolated: bool) -> None:
    if isolated and "SystemExit" in probe:
        reason = "no answer: the process ended with code 1"
    site.backend("acme", probe, isolated_probe=isolated)

    acme = probed("acme")
    assert acme.verdict is Verdict.broken
    assert reason in acme.reason + acme.error
    assert "Traceback" in acme.error


@pytest.mark.parametrize("isolated", [False, True])
def test_a_probe_that_hangs_is_a_timeout_and_the_others_answer(site: Site, isolated: bool) -> None:
    site.backend("acme", FOREVER, isolated_probe=isolated)

    acme = probed("acme", timeout=1)
    assert acme.verdict is Verdict.timeout
    assert "longer than 1 s" in acme.reason
    assert "ACCELPLUG_PROBE_TIMEOUT" in acme.remedy


def test_probes_that_answer_leave_no_thread(site: Site) -> None:
    before = set(threading.enumerate())
    site.backend("acme")
    probed("acme")
    assert set(threading.enumerate()) <= before  # one of an earlier test's may end meanwhile


def test_an_isolated_probe_runs_in_another_process(site: Site) -> None:
    site.backend(
        "acme", "import os; return Probe(verdict='usable', reason=str(os.getpid()), count=1)", isolated_probe=True
    )
    assert probed("acme").reason not in ("", str(os.getpid()))


def test_an_isolated_probe_that_crashes_is_broken_with_its_last_words(site: Site) -> None:
    site.backend("acme", "import os; os.write(2, b'driver: fatal'); os._exit(139)", isolated_probe=True)

    acme = probed("acme")
    assert acme.verdict is Verdict.broken
    assert "no answer: the process ended with code 139; it said: driver: fatal" in acme.reason


def test_an_isolated_probe_may_be_noisy(site: Site) -> None:
    noise = "import os, atexit; print('hello'); os.system('echo driver 1.0'); atexit.register(print, 'bye'); "
    site.backend("acme", noise + "return Probe(verdict='usable', reason='there', count=1)", isolated_probe=True)
    assert probed("acme").reason == "there"


def test_an_isolated_probe_that_hangs_takes_its_children_with_it(site: Site, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    hang = (
        f"import subprocess; child = subprocess.Popen(['sleep', '60']); open({str(pid)!r}, 'w').write(str(child.pid)); "
    )
    site.backend("acme", hang + "child.wait()", isolated_probe=True)

    assert probed("acme", timeout=5).verdict is Verdict.timeout
    assert ends(int(pid.read_text()))


def test_an_isolated_probe_sees_the_replaced_host(site: Site, tmp_path: Path) -> None:
    (tmp_path / "tree" / "dev").mkdir(parents=True)
    (tmp_path / "tree" / "dev" / "acme0").touch()
    answer = "return Probe(verdict='usable', reason=host.environ['ACME'], count=len(host.list('/dev', r'acme\\d')))"
    site.backend("acme", answer, isolated_probe=True)

    acme = probed("acme", host=Host(tmp_path / "tree", environ={"ACME": "one"}))
    assert (acme.verdict, acme.reason, acme.count) == (Verdict.usable, "one", 1)


def test_an_isolated_probe_is_not_misled_by_files_in_the_working_directory(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise OSError('not the json that was meant')")
    monkeypatch.chdir(tmp_path)
    site.backend("acme", isolated_probe=True)
    assert probed("acme").verdict is Verdict.usable
