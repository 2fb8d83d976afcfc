"""The device that vLLM runs on in this process: live, with what its backend's hooks say of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from accelplug.activation import activate
from accelplug.plugins import Backend, ask
from accelplug.specs import AttentionSpec, Candidate, Capabilities, Constraints, DeviceSpec, PlatformSpec
from accelplug_vllm import resolution

if TYPE_CHECKING:
    import torch

GLOO = "gloo"


class NativeDevice:
    """One live device. ``constraints`` and ``capabilities`` are its backend's, or empty where it has none."""

    def __init__(self, backend: Backend, spec: DeviceSpec, candidate: Candidate) -> None:
        probe = candidate.probe
        self.name = spec.name
        self.title = spec.title
        self.torch_type = spec.torch_type
        self.spec = spec
        self.simulated = candidate.simulated
        self.constraints = ask(backend, "accelplug_constraints", Constraints, probe=probe) or Constraints()
        self.capabilities = ask(backend, "accelplug_capabilities", Capabilities, probe=probe) or Capabilities()
        self._backend = backend
        self._attention: dict[str, AttentionSpec] = {}

    @property
    def distributed_backend(self) -> str:
        """What vLLM starts ``torch.distributed`` with, as it does for a single process too. Where the backend names
        nothing that is gloo, and several processes are refused."""
        return self.spec.distributed_backend or GLOO

    def attention(self, attn_type: str = "decoder") -> AttentionSpec:
        """How this kind of attention is computed; the hook is asked once for each kind."""
        if attn_type not in self._attention:
            from vllm.config import get_current_vllm_config_or_none

            asked = {"attn_type": attn_type, "config": get_current_vllm_config_or_none()}
            self._attention[attn_type] = (
                ask(self._backend, "accelplug_attention", AttentionSpec, **asked) or AttentionSpec()
            )
        return self._attention[attn_type]

    def parts(self, config: Any) -> PlatformSpec:
        """The vendor's own parts, for vLLM's configuration ``config``."""
        return ask(self._backend, "accelplug_platform", PlatformSpec, config=config) or PlatformSpec()

    def layers(self) -> Mapping[str, str | Callable[[type], type]]:
        """The vendor's own layers, by the names of vLLM's; the hook is asked at each call."""
        return ask(self._backend, "accelplug_layers", Mapping) or {}  # type: ignore[type-abstract]

    def holds(self, dtype: torch.dtype) -> bool:
        """Whether tensors of this dtype can be on the device."""
        return self.constraints.holds(str(dtype).removeprefix("torch."))


@functools.cache
def current() -> NativeDevice:
    """The device that accelplug chose for this process, made live at the first call.

    Raises ActivationError where it can't be made live, BackendError where a hook of its backend fails.
    """
    chosen = resolution.chosen()
    activate(chosen.spec, chosen.selection)
    return NativeDevice(chosen.backend, chosen.spec, chosen.candidate)
