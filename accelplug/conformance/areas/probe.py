"""The probe says whether the device can be used, quickly, and touches nothing to find out."""

from __future__ import annotations

import json
import tempfile
import time
from typing import Any

from accelplug.conformance.checks import Skip, check, expect
from accelplug.conformance.programs import output
from accelplug.conformance.subject import Subject
from accelplug.specs import Host, Probe, Verdict

LIMIT_MS = 50.0

# Which packages a probe imports: none but the standard library, accelplug, what accelplug needs, and its own.
IMPORTED = """
import json
from accelplug import settings
from accelplug.plugins import discover
from accelplug.specs import Host
values = settings.read().values
(backend,) = [b for b in discover(values.backends, values.simulate) if b.name == sys.argv[1]]
before = {name.partition(".")[0] for name in sys.modules}
backend.spec.probe(Host())
after = {name.partition(".")[0] for name in sys.modules}
print(json.dumps({"torch": "torch" in after, "new": sorted(after - before - set(sys.stdlib_module_names))}))
"""


@check("see `accelplug explain --device NAME`: it says what the probe looked at, and what to do")
def the_device_is_usable_and_the_probe_says_why(subject: Subject) -> dict[str, Any]:
    found = subject.candidate
    expect(found.verdict is Verdict.usable, f"the verdict is {found.verdict}: {found.reason}")
    expect(bool(found.reason.strip()), "the probe gives no reason")
    return {"count": found.count, "reason": found.reason}


@check("read files through the Host only; leave out what a probe need not know, or find it in `load`")
def the_probe_answers_within_50_ms(subject: Subject) -> dict[str, Any]:
    """The best of five, as the first fills the file system's caches and other processes may hold the CPU."""
    if subject.spec.isolated_probe:
        raise Skip("the backend's probe runs foreign code, in a process of its own (isolated_probe)")
    taken = []
    for _ in range(5):
        started = time.perf_counter()
        subject.spec.probe(Host())
        taken.append((time.perf_counter() - started) * 1e3)
    expect(min(taken) < LIMIT_MS, f"it took {min(taken):.1f} ms at best; the limit is {LIMIT_MS:g} ms")
    return {"best_ms": round(min(taken), 3), "worst_ms": round(max(taken), 3)}


@check("import torch and the SDK in `load`, not in the backend's module or its probe; or set isolated_probe=True")
def the_probe_imports_neither_torch_nor_an_sdk(subject: Subject) -> dict[str, Any]:
    if subject.spec.isolated_probe:
        raise Skip("the backend's probe runs foreign code, in a process of its own (isolated_probe)")
    imported = json.loads(output(IMPORTED, subject.name))
    own = subject.spec.probe.__module__.partition(".")[0]
    foreign = [name for name in imported["new"] if name not in {own, "accelplug", f"accelplug_{subject.name}"}]
    expect(not imported["torch"], "torch is imported when the backend is found or probes")
    expect(not foreign, f"the probe imports {', '.join(foreign)}")
    return {"imported": imported["new"]}


@check("a probe must not depend on what was probed before: no device opened, no file written")
def the_probe_says_the_same_twice(subject: Subject) -> None:
    first, second = subject.spec.probe(Host()), subject.spec.probe(Host())
    expect(first == second, f"first {first.verdict}: {first.reason}; then {second.verdict}: {second.reason}")


@check("answer no_hardware where the files that show the device are missing; never raise for it")
def on_an_empty_machine_it_is_not_usable(subject: Subject) -> dict[str, Any]:
    """No files, no environment, no packages."""
    if subject.candidate.simulated:
        raise Skip("the simulated machine is always there")
    with tempfile.TemporaryDirectory() as nothing:
        found = subject.spec.probe(Host(nothing, environ={}, site=[]))
    expect(isinstance(found, Probe), f"the probe returned {found!r}")
    expect(found.verdict is not Verdict.usable, f"it says usable: {found.reason}")
    return {"verdict": str(found.verdict)}
