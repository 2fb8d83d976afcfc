"""A checkpoint served on a device, by whichever package can serve: the entry-point group ``accelplug.serving_bench``.

Such an entry point is a function ``(device, model, sizes, dtype) -> Serving``; it makes nothing live in this process.
"""

from __future__ import annotations

from importlib.metadata import entry_points

from accelplug.bench.records import Dimensions, Serving

ENTRY_POINTS = "accelplug.serving_bench"


def served(device: str, model: str, sizes: Dimensions, dtype: str) -> Serving:
    """What came of serving ``model`` on ``device``, or why nothing could."""
    found = sorted(entry_points(group=ENTRY_POINTS), key=lambda each: each.name)
    if not found:
        return Serving(error="no package that serves models is installed: pip install 'accelplug[vllm]'")
    function = found[0].load()
    result: Serving = function(device, model, sizes, dtype)
    return result
