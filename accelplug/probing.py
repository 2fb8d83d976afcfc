"""Runs each backend's probe under a time limit and turns what happens into a candidate."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback

from pydantic import ValidationError

from accelplug.interpreters import command, ended, last_lines, voice
from accelplug.notices import warn_once
from accelplug.plugins import Backend, discover, running
from accelplug.settings import Settings, read
from accelplug.specs import Candidate, DeviceSpec, Host, Probe, Verdict


def probe_all(settings: Settings, host: Host | None = None) -> tuple[Candidate, ...]:
    """Every backend's candidate, in the order in which ``auto`` prefers them: by priority, then by name."""
    host = host or Host()
    candidates = [probe(backend, settings, host) for backend in discover(settings.backends, settings.simulate)]
    return tuple(sorted(_unmask(candidates, settings), key=lambda c: (-c.priority, c.name)))


def probe(backend: Backend, settings: Settings, host: Host) -> Candidate:
    """One backend's candidate. Never raises for what the backend does."""
    if not backend.allowed:
        reason = f"not on the allow-list ACCELPLUG_BACKENDS={settings.backends}"
        return _candidate(backend, Probe(verdict=Verdict.disabled, reason=reason))
    if backend.spec is None:
        return _candidate(backend, Probe(verdict=Verdict.broken, reason=backend.cause), error=backend.error)
    started = time.perf_counter()
    found, error = _run(backend.spec, host, settings.probe_timeout)
    if error:
        warn_once(f"backend {backend.name} ({backend.origin}): its probe failed: {found.reason}")
    return _candidate(backend, found, error, (time.perf_counter() - started) * 1e3)


def _candidate(backend: Backend, found: Probe, error: str = "", probe_ms: float = 0.0) -> Candidate:
    spec = backend.spec
    described = (
        {"title": spec.title, "priority": spec.priority, "torch_type": spec.torch_type, "ran_on": spec.ran_on}
        if spec
        else {"title": backend.name}
    )
    return Candidate(
        name=backend.name,
        distribution=backend.origin,
        error=error,
        probe_ms=round(probe_ms, 3),
        **described,
        **found.model_dump(),
    )


def _run(spec: DeviceSpec, host: Host, limit: float) -> tuple[Probe, str]:
    """The probe's answer, and a traceback where it failed. A probe that overruns is left behind in its thread."""
    answers: list[tuple[Probe, str]] = []
    worker = threading.Thread(
        target=lambda: answers.append(_guarded(spec, host, limit)),
        name=f"accelplug-probe-{spec.name}",
        daemon=True,
    )
    worker.start()
    worker.join(limit)
    if answers:
        return answers[0]
    return _too_slow(limit), ""


def _guarded(spec: DeviceSpec, host: Host, limit: float) -> tuple[Probe, str]:
    try:
        with running(spec.name):
            return (_isolated(spec, host, limit) if spec.isolated_probe else _in_process(spec, host)), ""
    except BaseException as error:  # in a thread of its own, so whatever it is, it is the backend's
        reason = f"{type(error).__name__}: {error}"
        return Probe(verdict=Verdict.broken, reason=reason), traceback.format_exc()


def _in_process(spec: DeviceSpec, host: Host) -> Probe:
    found = spec.probe(host)
    if not isinstance(found, Probe):
        raise TypeError(f"the probe must return a Probe, got {found!r}")
    return found


def _isolated(spec: DeviceSpec, host: Host, limit: float) -> Probe:
    """Runs the probe in a new interpreter: foreign code may crash or initialise what it likes there."""
    with subprocess.Popen(
        command("accelplug.probing:answer", spec.name, json.dumps(host.view())),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(host.environ),
        start_new_session=True,
    ) as process:
        try:
            said, noise = process.communicate(timeout=limit * 0.95)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # with whatever it has started
            return _too_slow(limit)
    try:
        return Probe.model_validate_json(said)
    except ValidationError:
        words = noise.decode(errors="replace").strip() or "nothing"
        (last,) = last_lines(words, 1)
        raise RuntimeError(f"the probe gave no answer: {ended(process.returncode)}; it said: {last}") from RuntimeError(
            words
        )  # so that the traceback over there is kept


def answer(name: str, view: str) -> None:
    """The isolated side: probes with that one backend and says what it found."""
    say = voice()
    (backend,) = [b for b in discover(name, read().values.simulate) if b.name == name]
    if backend.spec is None:
        sys.exit(backend.cause)
    found = _in_process(backend.spec, Host(**json.loads(view)))
    say(**found.model_dump(mode="json"))


def _too_slow(limit: float) -> Probe:
    return Probe(
        verdict=Verdict.timeout,
        reason=f"the probe took longer than {limit:g} s",
        remedy="see what hangs (often a driver that does not answer), or allow more with ACCELPLUG_PROBE_TIMEOUT",
    )


def _unmask(candidates: list[Candidate], settings: Settings) -> list[Candidate]:
    """Says of an absent device when another one's SDK answers in its name."""
    specs = {b.name: b.spec for b in discover(settings.backends, settings.simulate) if b.spec}
    masks = {mask: c.name for c in candidates if c.usable and c.name in specs for mask in specs[c.name].masquerades_as}
    return [
        c.model_copy(update={"reason": f"{c.reason}; torch.{c.name} is answered by {masks[c.name]}'s SDK"})
        if c.name in masks and not c.usable
        else c
        for c in candidates
    ]
