"""Which quantised models a device runs: what accelplug's kernel takes, and what a vendor's own kernels are for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accelplug_vllm.native.device import NativeDevice

COMPRESSED, GPTQ = "compressed-tensors", "gptq"
OURS = (COMPRESSED, GPTQ)  # of both, weights of 4 or 8 bits under activations as they are
ALSO_CALLED = {"auto_gptq": GPTQ, "gptq_marlin": GPTQ}  # by vLLM
PACKED = "pack-quantized"


def why_not(vllm_config: Any, here: NativeDevice) -> str:
    """Why a quantised model can't run on the device, with what can; "" where it can."""
    asked = vllm_config.model_config.quantization
    method, able = ALSO_CALLED.get(asked, asked), runs(vllm_config, here)
    if method not in able:
        return f"it runs {_listed(able, here)}, and this is {asked}"
    if _brings_kernels(vllm_config, here):
        return ""  # the vendor's word is taken for what they are for
    if vllm_config.model_config.is_moe:
        return f"it runs {_listed(able, here)}, and no quantised experts"
    if method == COMPRESSED and (others := sorted(set(_others(vllm_config.quant_config)))):
        return f"it runs {_listed(able, here)}, and this has {', '.join(others)}"
    return ""


def runs(vllm_config: Any, here: NativeDevice) -> list[str]:
    """The methods that run on the device."""
    allowed = here.capabilities.quantization
    if allowed is None:
        return [*OURS]
    named = [ALSO_CALLED.get(method, method) for method in allowed]
    return named if _brings_kernels(vllm_config, here) else [method for method in OURS if method in named]


def _brings_kernels(vllm_config: Any, here: NativeDevice) -> bool:
    return bool(here.parts(vllm_config).linear_kernels)


def _listed(methods: Iterable[str], here: NativeDevice) -> str:
    known = [f"{method} with weights of 4 or 8 bits" if method in OURS else method for method in methods]
    if known:
        return " and ".join(known)
    allowed = ", ".join(here.capabilities.quantization or ())
    return f"no quantised model (its backend allows {allowed}, and accelplug has kernels for {' and '.join(OURS)})"


def _others(quant_config: Any) -> Iterable[str]:
    """What a checkpoint of compressed-tensors has that accelplug's kernel doesn't take, in words."""
    for scheme in quant_config.target_scheme_map.values():
        weights, form = scheme["weights"], scheme["format"] or quant_config.quant_format
        quantised = [name for name in ("input_activations", "output_activations") if scheme.get(name)]
        if form != PACKED or weights.num_bits not in (4, 8) or weights.type != "int" or quantised:
            also = f" and quantised {' and '.join(quantised)}" if quantised else ""
            yield f"{weights.type} weights of {weights.num_bits} bits as {form}{also}"
