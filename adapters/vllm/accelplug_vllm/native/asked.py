"""An option of vLLM's that asks for what a device, or accelplug, may not be able to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accelplug.specs import Feature

if TYPE_CHECKING:
    from accelplug_vllm.native.device import NativeDevice


@dataclass(frozen=True)
class Asked:
    """``asks(vllm_config)`` says whether ``flag`` asks for ``feature``; ``remedy`` is what to do where it can't be.

    What vLLM does by default nobody need have asked for. It has ``leave_out(vllm_config)`` in the place of a remedy.
    ``unbuilt`` is why accelplug has no way to do it on a device outside of vLLM's tree, whatever the backend says;
    without it, what is asked for would be left out without a word, or fail in the middle of a request. Where some of it
    is built, ``why_not(vllm_config, here)`` says what isn't, or "". Both are about accelplug's worker, not a vendor's.
    ``feature`` is None where a backend has no word for it.
    """

    feature: Feature | None
    flag: str
    asks: Callable[[Any], bool]
    remedy: str = ""
    leave_out: Callable[[Any], None] | None = None
    unbuilt: str = ""
    why_not: Callable[[Any, NativeDevice], str] | None = None

    def reason(self, config: Any, here: NativeDevice, cannot: Mapping[Feature, str]) -> str:
        """Why what ``config`` asks for can't be; "" where it can, or isn't asked for."""
        if not self.asks(config):
            return ""
        if self.feature is not None and self.feature in cannot:
            return cannot[self.feature]
        if here.parts(config).worker:
            return ""
        return self.unbuilt or (self.why_not(config, here) if self.why_not else "")


def of_model(config: Any, name: str) -> bool:
    """Whether there is a model, and it says yes to ``name``."""
    return config.model_config is not None and bool(getattr(config.model_config, name))
