"""Which vLLM this adapter supports. The one place that says so; the extra ``accelplug[vllm]`` must agree (tested)."""

from __future__ import annotations

SUPPORTED = ">=0.28,<0.34"
