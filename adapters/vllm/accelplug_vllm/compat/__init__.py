"""Everything of vLLM and torch that the adapter depends on, and what becomes of it where that isn't there.

A *seam* is one name (`seam`), with the parameters it must have and, where it counts, what its source says. Seams are
looked up in the source (`source`), so that nothing need be imported: the installed vLLM's when a server starts, any
other version's in `make test-versions`. A *part* of the adapter is what a missing seam takes away: `everywhere` for all
modes, `native` for what native mode can't do without, `native_parts` for what it can. `installed` says which work here,
and `verdicts` keeps that, so that the source isn't parsed at each start.

`moved` are names that differ between supported versions. `workarounds` are places that the adapter works around, each
with a look at whether vLLM still needs it. The tests fail the day it doesn't, and when the adapter imports something
that is no seam.
"""

from accelplug_vllm.compat.everywhere import (
    ARBITRATION,
    CPU_DEFAULTS,
    DELEGATE,
    DEVICE_FLAG,
    EVERYWHERE,
    LAYERS_ON_DEVICE,
    METRICS,
    RAY_EXECUTOR,
    TRACE,
)
from accelplug_vllm.compat.installed import PARTS, settle, why_off, works
from accelplug_vllm.compat.native import NATIVE
from accelplug_vllm.compat.native_parts import (
    ASYNC_SCHEDULING,
    COMPILING,
    DRAFTS,
    IR,
    LAST_WORDS,
    LATENT_ATTENTION,
    LORA,
    MIXTURES,
    NATIVE_PARTS,
    PACKING,
    PROFILER,
    QUANTISED,
    REPLACED_LAYERS,
    SEEDS,
    SEVERAL_WORKERS,
    SLICING,
    STATIC_SHAPES,
    STRUCTURED_OUTPUT,
)
from accelplug_vllm.compat.patching import replaced
from accelplug_vllm.compat.seam import Part, Seam
from accelplug_vllm.compat.source import Source

__all__ = [
    "ARBITRATION",
    "ASYNC_SCHEDULING",
    "COMPILING",
    "CPU_DEFAULTS",
    "DELEGATE",
    "DEVICE_FLAG",
    "DRAFTS",
    "EVERYWHERE",
    "IR",
    "LAST_WORDS",
    "LATENT_ATTENTION",
    "LAYERS_ON_DEVICE",
    "LORA",
    "METRICS",
    "MIXTURES",
    "NATIVE",
    "NATIVE_PARTS",
    "PACKING",
    "PARTS",
    "PROFILER",
    "QUANTISED",
    "RAY_EXECUTOR",
    "REPLACED_LAYERS",
    "SEEDS",
    "SEVERAL_WORKERS",
    "SLICING",
    "STATIC_SHAPES",
    "STRUCTURED_OUTPUT",
    "TRACE",
    "Part",
    "Seam",
    "Source",
    "replaced",
    "settle",
    "why_off",
    "works",
]
