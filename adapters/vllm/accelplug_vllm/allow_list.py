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
    """The plug-ins that the host has but those of the named distributions, as the variable wants them.

    Where the variable is set already, what it keeps out stays out; accelplug's own are always in.
    """
    listed = host.environ.get(VARIABLE)
    allowed = None if listed is None else listed.split(",")
    kept = [
        entry_point.name
        for group in GROUPS
        for entry_point in entry_points(host, group)
        if (dist := entry_point.dist) and dist.name not in distributions
        if allowed is None or entry_point.name in allowed or dist.name == "accelplug"
    ]
    return ",".join(dict.fromkeys(kept))
