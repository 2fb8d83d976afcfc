"""Which vLLM this adapter supports. The one place that says so; the extra ``accelplug[vllm]`` must agree (tested).

What of it works with which version is found out by `accelplug_vllm.compat`, and docs/versions.md has it as a table.
"""

from __future__ import annotations

SUPPORTED = ">=0.28,<0.34"
