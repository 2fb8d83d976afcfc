"""The lines a server says once, in the process that starts it."""

from __future__ import annotations

import functools
import logging

from accelplug import show
from accelplug_vllm import arbitration, handoff, resolution

log = logging.getLogger("vllm.accelplug")


def at_start(decision: resolution.Decision, applied: list[str]) -> None:
    """Which device, why, what was passed over, and which defaults of accelplug's are in force."""
    if handoff.received() is None and decision.selection is not None:
        _say(show.headline(decision.selection), tuple(decision.silenced), tuple(applied))


@functools.cache
def _say(headline: str, silenced: tuple[str, ...], applied: tuple[str, ...]) -> None:
    notes = [f"platform plugins left out: {', '.join(map(arbitration.described, silenced))}"] if silenced else []
    notes += [f"defaults (ACCELPLUG_CPU_DEFAULTS=off for vLLM's own): {', '.join(applied)}"] if applied else []
    log.info("accelplug: %s", "; ".join([headline, *notes]))
