"""The ways vLLM is run, as environments. Nothing else differs between the variants of a suite."""

from __future__ import annotations

IN_TREE, OFF, ON = "vLLM in tree", "accelplug, its CPU defaults off", "accelplug"
PACE = "pace-vllm"

# VLLM_PLUGINS lists what vLLM may load, by entry-point name. vLLM's own general plug-ins are loaded in every variant.
OWN = "lora_filesystem_resolver,lora_hf_hub_resolver"
OURS = f"accelplug,accelplug_general,{OWN}"

ENVIRONMENTS = {
    IN_TREE: {"VLLM_PLUGINS": OWN},
    OFF: {"VLLM_PLUGINS": OURS, "ACCELPLUG_CPU_DEFAULTS": "off"},
    ON: {"VLLM_PLUGINS": OURS},
    PACE: {"VLLM_PLUGINS": f"pace,{OWN}"},
}
