"""Values for ``VLLM_PLUGINS``: the names of all vLLM plug-ins here but those of some distributions."""

from __future__ import annotations

from collections.abc import Collection

from accelplug.doctor.packages import entry_points
from accelplug.specs import Host
from accelplug_vllm.arbitration import PLATFORMS

VARIABLE = "VLLM_PLUGINS"

# The groups that the variable filters. Endpoint plug-ins are left out: naming one there switches it on.
GROUPS = (PLATFORMS, "vllm.general_plugins", "vllm.io_processor_plugins", "vllm.stat_logger_plugins")


def without(distributions: Collection[str], host: Host) -> str:
    """All plug-ins that the host has but those of the named distributions, as the variable wants them."""
    kept = [
        e.name for group in GROUPS for e in entry_points(host, group) if e.dist and e.dist.name not in distributions
    ]
    return ",".join(dict.fromkeys(kept))
