"""vLLM's part of ``accelplug doctor``: is it there and whole, and will it find accelplug? Imports nothing of vLLM."""

from __future__ import annotations

from collections.abc import Iterator

from accelplug.doctor import Finding
from accelplug.specs import Host
from accelplug_vllm.checks import installed, metadata, plugins, seams


def checks(host: Host) -> Iterator[Finding]:
    """Everything `accelplug doctor` says about vLLM (entry-point group ``accelplug.checks``)."""
    yield from installed.checks(host)
    yield from metadata.checks(host)
    if installed.distribution(host):
        yield from plugins.checks(host)
        yield from seams.checks(host)
