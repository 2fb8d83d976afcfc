"""Other packages that claim vLLM's platform. vLLM stops if two do; accelplug decides which one stays.

Whoever is left out is silenced for this resolution only, and named. vLLM keeps the plug-ins of one resolution, and those
that have claimed the platform so far, in local variables of the function that calls them, and offers no other way to
take one back. Where that function looks different, nothing is silenced, and vLLM stops with its own message.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable
from importlib import metadata
from types import FrameType
from typing import Any

from accelplug.plugins import running

GROUP = "vllm.platform_plugins"
OURS = "accelplug"
RESOLVER, PLUGINS, CLAIMED = "resolve_current_platform_cls_qualname", "platform_plugins", "activated_plugins"

log = logging.getLogger("vllm.accelplug")

Plugin = Callable[[], "str | None"]


def claiming() -> tuple[str, ...]:
    """The names of the other plug-ins that claim the platform in the resolution that is going on."""
    plugins: dict[str, Plugin] = _resolving().get(PLUGINS, {})
    return tuple(sorted(name for name, plugin in plugins.items() if name != OURS and _claims(name, plugin)))


def silence(names: Iterable[str]) -> None:
    """Takes the named plug-ins out of this resolution: those yet to be asked will decline, the others' claim is void."""
    resolving = _resolving()
    for name in names:
        resolving[PLUGINS][name] = _decline
        if name in resolving[CLAIMED]:
            resolving[CLAIMED].remove(name)


def described(name: str) -> str:
    """``"spyre_inference (spyre-inference 1.0)"``: the entry point and the distribution it comes from."""
    for entry_point in metadata.entry_points(group=GROUP, name=name):
        if entry_point.dist:
            return f"{name} ({entry_point.dist.name} {entry_point.dist.version})"
    return name


def _decline() -> None:
    return None


def _claims(name: str, plugin: Plugin) -> bool:
    try:
        with running(name):
            return plugin() is not None
    except Exception as error:
        # vLLM takes this for "not here" and says it at DEBUG only.
        log.warning("vLLM platform plugin %s failed: %s: %s", described(name), type(error).__name__, error)
        return False


def _resolving() -> dict[str, Any]:
    """The local variables of vLLM's resolver; empty where none is on the stack, or it is not the one we know."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == RESOLVER and {PLUGINS, CLAIMED} <= frame.f_locals.keys():
            return frame.f_locals
        frame = frame.f_back
    return {}
