"""The areas, in the order in which a report has them. Naming them imports none."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from accelplug.errors import BadInputError, did_you_mean

COMPARING = ("comparing.py", "dtypes.py")  # what counts as right, for every area


@dataclass(frozen=True)
class Area:
    """A module of checks in this folder, of the same name.

    ``live``: the device is made live before the first check; an area that looks at how that goes does it itself.
    ``shards``: into how many processes its checks may be split.
    ``slow``: it is started before the others, as what is left at the end is done one by one.
    ``also``: further files of the suite that decide what its checks ask.
    """

    name: str
    title: str
    live: bool = True
    shards: int = 1
    slow: bool = False
    also: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        return f"{__name__}.{self.name}"

    @functools.cached_property
    def version(self) -> str:
        """12 hexadecimal digits for the code of its checks."""
        folder = Path(__file__).parent
        files = [folder / f"{self.name}.py", *(folder.parent / name for name in (*COMPARING, *self.also))]
        return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


AREAS = (
    Area("probe", "Probe", live=False),
    Area("registration", "Registration with PyTorch", live=False),
    Area("accelerator", "torch.accelerator"),
    Area("memory", "Memory"),
    Area("rng", "Random numbers"),
    Area("streams", "Streams and events"),
    Area("autograd", "Autograd and training"),
    Area("tensors", "Dtypes, alignment and layouts"),
    Area("saving", "Saving and copying"),
    Area("ops", "Operators (OpInfo)", shards=8, also=("opinfo.py", "counting.py")),
    Area("kernels", "Kernels against their references", also=("kernel_samples.py",)),
    Area("decompositions", "Decompositions"),
    Area("compile", "torch.compile", slow=True),
    Area("threads", "Threads"),
    Area("processes", "Fork and spawn", live=False),
    Area("distributed", "torch.distributed", live=False),
    Area("shutdown", "Shutdown", live=False),
)


def names() -> list[str]:
    return [area.name for area in AREAS]


def find(wanted: Sequence[str]) -> tuple[Area, ...]:
    """The named areas in their own order, all where none is named. Raises BadInputError with the nearest name."""
    for name in wanted:
        if name not in names():
            raise BadInputError(f"unknown area {name!r}{did_you_mean(name, names())}; known: {', '.join(names())}")
    return tuple(area for area in AREAS if not wanted or area.name in wanted)
