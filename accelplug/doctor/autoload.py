"""Will `import torch` survive the packages that ask to be loaded with it?

torch imports every entry point of the group ``torch.backends`` and calls it, and an exception there ends
``import torch``. So they are tried here without torch, each in a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint

from accelplug.doctor.finding import Finding, Level
from accelplug.doctor.packages import entry_points, run_apart
from accelplug.entry_points import origin
from accelplug.specs import Host

GROUP = "torch.backends"
SWITCH = "TORCH_DEVICE_BACKEND_AUTOLOAD"
CHECK = "torch autoload"


def checks(host: Host) -> Iterator[Finding]:
    """One finding for each package that asks, and one where several do."""
    found = entry_points(host, GROUP)
    off = host.environ.get(SWITCH, "1") != "1"
    if not found:
        yield Finding(check=CHECK, summary="no package asks to be loaded with torch")
    for entry_point in found:
        yield _one(entry_point, host, off)
    if len(found) > 1:
        yield _several(found, off)


def _one(entry_point: EntryPoint, host: Host, off: bool) -> Finding:
    arguments = (entry_point.name, entry_point.value, entry_point.group)
    code = f"from importlib.metadata import EntryPoint\nEntryPoint(*{arguments!r}).load()"
    _, failure = run_apart(host, code, {SWITCH: "0"})
    named = f"{entry_point.name} = {entry_point.value} ({origin(entry_point)})"
    if not failure:
        return Finding(check=CHECK, summary=f"{named} can be imported")
    cause = failure.splitlines()[-1]
    return Finding(
        check=CHECK,
        level=Level.warning if off else Level.error,
        summary=f"{named} would end `import torch` but for {SWITCH}=0: {cause}"
        if off
        else f"{named} ends `import torch`: {cause}",
        remedy=_remedy([entry_point]),
        details={"traceback": failure},
    )


def _several(found: list[EntryPoint], off: bool) -> Finding:
    named = " and ".join(f"{e.name} ({origin(e)})" for e in found)
    return Finding(
        check=CHECK,
        level=Level.ok if off else Level.warning,
        summary=f"{len(found)} packages load themselves into torch, which has room for one device type from outside: "
        f"{named}{f'; {SWITCH}=0 keeps them out' if off else ''}",
        remedy="" if off else _remedy(found),
    )


def _remedy(found: list[EntryPoint]) -> str:
    packages = sorted({e.dist.name for e in found if e.dist})
    return f"set {SWITCH}=0, or uninstall what you don't use: pip uninstall {' or '.join(packages)}"
