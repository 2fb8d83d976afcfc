"""What a measuring process is told: its task once, then one request after another."""

from __future__ import annotations

from fnmatch import fnmatchcase

from accelplug.bench.records import ModelSizes
from accelplug.specs import Record


class Task(Record):
    """A device, the sizes, the dtype's name, and which workloads: ``only`` are patterns of names, empty: all."""

    device: str
    model: ModelSizes
    dtype: str
    quick: bool = False
    only: tuple[str, ...] = ()

    def wants(self, name: str) -> bool:
        """Whether it has the workload of that name."""
        return not self.only or any(fnmatchcase(name, pattern) for pattern in self.only)


class Request(Record):
    """A round of the workload at that place in the plan; None: the device's limits."""

    workload: int | None = None
