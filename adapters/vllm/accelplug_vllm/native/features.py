"""What of vLLM a device can't do is refused when the server starts, with the option that asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accelplug.errors import BadInputError
from accelplug.specs import Feature
from accelplug_vllm import compat
from accelplug_vllm.native.feature_table import FEATURES
from accelplug_vllm.native.unbuilt import UNBUILT

if TYPE_CHECKING:
    from accelplug_vllm.native.device import NativeDevice

# The part of the adapter that each feature of a device is done by.
DONE_BY = {
    Feature.lora: compat.LORA,
    Feature.mixture_of_experts: compat.MIXTURES,
    Feature.mla: compat.LATENT_ATTENTION,
    Feature.quantization: compat.QUANTISED,
    Feature.speculative_decoding: compat.DRAFTS,
    Feature.structured_output: compat.STRUCTURED_OUTPUT,
    Feature.tensor_parallel: compat.SEVERAL_WORKERS,
    Feature.pipeline_parallel: compat.SEVERAL_WORKERS,
    Feature.data_parallel: compat.SEVERAL_WORKERS,
}


def check(vllm_config: Any, here: NativeDevice) -> list[str]:
    """Leaves out what vLLM does by default and the device can't, and says what. Changes nothing the second time.

    Raises BadInputError naming every other option that asks for what can't be, why, and what to do.
    """
    cannot = _cannot(here)
    asked = [
        (option, reason) for option in (*FEATURES, *UNBUILT) if (reason := option.reason(vllm_config, here, cannot))
    ]
    refused = [
        f"{option.flag}: not on {here.title}: {reason}; {option.remedy}"
        for option, reason in asked
        if option.leave_out is None
    ]
    if refused:
        raise BadInputError("\n".join(refused))
    for option, _ in asked:
        assert option.leave_out is not None
        option.leave_out(vllm_config)
    return [f"no {option.feature} ({reason})" for option, reason in asked]


def check_request(params: Any, here: NativeDevice) -> None:
    """Raises ValueError, which vLLM's server answers with 400, for a request that the device can't serve."""
    reason = _cannot(here).get(Feature.structured_output)
    if reason and getattr(params, "structured_outputs", None) is not None:
        raise ValueError(f"structured output: not on {here.title}: {reason}; leave it out of the request")


def _cannot(here: NativeDevice) -> dict[Feature, str]:
    """Feature to reason: the backend's, what this vLLM lacks, and what several workers, or drafts, would need."""
    cannot = {feature: reason for feature, part in DONE_BY.items() if (reason := compat.why_off(part))}
    if not here.spec.distributed_backend:
        several = (Feature.tensor_parallel, Feature.pipeline_parallel, Feature.data_parallel)
        cannot |= dict.fromkeys(several, "its backend names nothing that processes could talk through")
    if not here.constraints.holds("float64"):
        cannot[Feature.speculative_decoding] = "vLLM draws float64 numbers to check drafts, and the device holds none"
    return cannot | here.capabilities.cannot
