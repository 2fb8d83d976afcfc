"""Static shapes: few sizes instead of any size, so that a device compiles each once and none in service.

Read `ladder` first. Nothing here imports torch until a tensor is padded. `docs/buckets.md` is the long form.
"""

from accelplug.buckets.compiled import Bucketed
from accelplug.buckets.costs import AffineCost, Cost, MeasuredCost
from accelplug.buckets.grid import Grid
from accelplug.buckets.guard import NoMoreCompiles, no_more_compiles, running
from accelplug.buckets.ladder import Ladder
from accelplug.buckets.marks import marked
from accelplug.buckets.optimal import optimal_ladder, padding
from accelplug.buckets.policy import BucketPolicy, default_ladder
from accelplug.buckets.slicing import Slice, Slicer
from accelplug.buckets.spec import Buckets
from accelplug.buckets.usage import BucketUsage, Collector, Usage
from accelplug.buckets.warmup import WarmupError, WarmupPlan

__all__ = [
    "AffineCost",
    "BucketPolicy",
    "BucketUsage",
    "Bucketed",
    "Buckets",
    "Collector",
    "Cost",
    "Grid",
    "Ladder",
    "MeasuredCost",
    "NoMoreCompiles",
    "Slice",
    "Slicer",
    "Usage",
    "WarmupError",
    "WarmupPlan",
    "default_ladder",
    "marked",
    "no_more_compiles",
    "optimal_ladder",
    "padding",
    "running",
]
