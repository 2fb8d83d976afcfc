"""The lines a server says once, in the process that starts it."""

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence

from accelplug import settings, show
from accelplug_vllm import arbitration, handoff, resolution

OFF = f"{settings.variable('cpu_defaults')}=off"

log = logging.getLogger("vllm.accelplug")


def at_start(decision: resolution.Decision, applied: Sequence[str] = (), notes: Sequence[str] = ()) -> None:
    """Which device, why, what was passed over, which defaults of accelplug's are in force (``applied``), and notes."""
    if handoff.received() is None and decision.selection is not None:
        _say(show.headline(decision.selection), tuple(decision.silenced), tuple(applied), tuple(notes))


@functools.cache
def _say(headline: str, silenced: tuple[str, ...], applied: tuple[str, ...], notes: tuple[str, ...]) -> None:
    said = [headline, *notes]
    said += [f"platform plug-ins left out: {', '.join(map(arbitration.described, silenced))}"] if silenced else []
    said += [f"defaults ({OFF} for vLLM's own): {', '.join(applied)}"] if applied else []
    log.info("accelplug: %s", "; ".join(said))
