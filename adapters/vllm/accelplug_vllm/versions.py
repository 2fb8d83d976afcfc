"""Which vLLM this adapter supports. The one place that says so; the extra ``accelplug[vllm]`` must agree (tested)."""

from __future__ import annotations

SUPPORTED = ">=0.28,<0.34"

# Of these, those on which accelplug runs devices that are not in vLLM's tree. Older ones have other interfaces.
NATIVE = ">=0.32,<0.34"
