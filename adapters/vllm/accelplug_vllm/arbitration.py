"""Other packages that claim vLLM's platform. vLLM stops if two do; accelplug decides which one stays.

Whoever is left out is silenced for this resolution only, and named. vLLM keeps the plug-ins of one resolution, and
those that have claimed the platform so far, in local variables of the function that calls them, and offers no other way
to take one back. Where that function looks different, nothing is silenced, that is said, and vLLM stops with its
own message.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable
from importlib import metadata
from types import FrameType
from typing import Any

from accelplug.plugins import running
from accelplug_vllm import compat, handoff

PLATFORMS = "vllm.platform_plugins"
OURS = "accelplug"
RESOLVER, PLUGINS, CLAIMED = "resolve_current_platform_cls_qualname", "platform_plugins", "activated_plugins"

log = logging.getLogger("vllm.accelplug")

Plugin = Callable[[], "str | None"]


def others() -> tuple[str, ...]:
    """The names of the other plug-ins in the resolution that is going on."""
    return tuple(sorted(name for name in _resolving().get(PLUGINS, {}) if name != OURS))


def ask() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Asks the other plug-ins as vLLM asks them: those that claim the platform, and those that fail."""
    plugins: dict[str, Plugin] = _resolving().get(PLUGINS, {})
    if not plugins and any(entry_point.name != OURS for entry_point in metadata.entry_points(group=PLATFORMS)):
        compat.works(compat.ARBITRATION)
    answers = {name: _claims(name, plugins[name]) for name in others()}
    return tuple(n for n, claims in answers.items() if claims), tuple(n for n in answers if answers[n] is None)


def silence(names: Iterable[str]) -> None:
    """Takes the named plug-ins out of this resolution: those yet to be asked will decline, a claim made is void."""
    resolving = _resolving()
    for name in names:
        resolving[PLUGINS][name] = _decline
        if name in resolving[CLAIMED]:
            resolving[CLAIMED].remove(name)


def described(name: str) -> str:
    """``"spyre_inference (spyre-inference 1.0)"``: the entry point and the distribution it comes from."""
    for entry_point in metadata.entry_points(group=PLATFORMS, name=name):
        if entry_point.dist:
            return f"{name} ({entry_point.dist.name} {entry_point.dist.version})"
    return name


def _decline() -> None:
    return None


def _claims(name: str, plugin: Plugin) -> bool | None:
    """Whether the plug-in claims the platform; None where it fails."""
    try:
        with running(name):
            return plugin() is not None
    except Exception as error:
        # vLLM takes this for "not here" and says it at DEBUG only. The processes of a server need not all say it.
        level = logging.DEBUG if handoff.received() else logging.WARNING
        log.log(level, "vLLM platform plug-in %s failed: %s: %s", described(name), type(error).__name__, error)
        return None


def _resolving() -> dict[str, Any]:
    """The local variables of vLLM's resolver; empty where none is on the stack, or it is not the one we know."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == RESOLVER and {PLUGINS, CLAIMED} <= frame.f_locals.keys():
            return frame.f_locals
        frame = frame.f_back
    return {}
