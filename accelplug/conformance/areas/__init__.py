"""The areas of this package, in the order in which a report has them. Naming them imports none."""

from __future__ import annotations

from accelplug.conformance.areas.area import Area

_SUITE = "accelplug.conformance"


def _own(
    name: str, title: str, *, live: bool = True, shards: int = 1, slow: bool = False, also: tuple[str, ...] = ()
) -> Area:
    """An area whose module is in this folder, and has its name. ``also`` are modules of the suite."""
    module, others = f"{__name__}.{name}", tuple(f"{_SUITE}.{other}" for other in also)
    return Area(name, title, module, live=live, shards=shards, slow=slow, also=others)


AREAS = (
    _own("probe", "Probe", live=False),
    _own("registration", "Registration with PyTorch", live=False),
    _own("accelerator", "torch.accelerator"),
    _own("memory", "Memory"),
    _own("rng", "Random numbers"),
    _own("streams", "Streams and events"),
    _own("autograd", "Autograd and training"),
    _own("tensors", "Dtypes, alignment and layouts"),
    _own("saving", "Saving and copying"),
    _own("ops", "Operators (OpInfo)", shards=8, also=("opinfo", "counting")),
    _own("kernels", "Kernels against their references", also=("kernel_samples",)),
    _own("decompositions", "Decompositions"),
    _own("compile", "torch.compile", slow=True),
    _own("threads", "Threads"),
    _own("processes", "Fork and spawn", live=False),
    _own("distributed", "torch.distributed", live=False),
    _own("shutdown", "Shutdown", live=False),
)
