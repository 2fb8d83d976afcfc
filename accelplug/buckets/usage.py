"""Which buckets were used, how much of them was padding, and how often something was compiled."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from pydantic import Field

from accelplug.specs.record import Record

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric


class BucketUsage(Record):
    """What one user of buckets has done so far, such as ``prefill``.

    ``hits`` is the calls by bucket (``1024``, ``64×8``), ``real`` and ``padding`` count elements, ``compiles`` all
    compilations and ``compiles_in_service`` those of them that came after warm-up.
    """

    part: str
    hits: dict[str, int] = Field(default_factory=dict)
    real: int = 0
    padding: int = 0
    compiles: int = 0
    compiles_in_service: int = 0

    @property
    def waste(self) -> float:
        """The share of all elements run that was padding, 0 to 1."""
        return self.padding / (self.real + self.padding) if self.padding else 0.0


class Usage:
    """Counts for one part. Threads may share it."""

    def __init__(self, part: str) -> None:
        self.part = part
        self._hits: Counter[str] = Counter()
        self._real = self._padding = self._compiles = self._compiles_in_service = 0
        self._lock = threading.Lock()

    def hit(self, bucket: str, real: int, size: int) -> None:
        """A call in ``bucket``, of whose ``size`` elements ``real`` were no padding."""
        with self._lock:
            self._hits[bucket] += 1
            self._real += real
            self._padding += size - real

    def compiled(self, in_service: bool) -> None:
        """Something was compiled; ``in_service`` says whether after warm-up."""
        with self._lock:
            self._compiles += 1
            self._compiles_in_service += in_service

    def snapshot(self) -> BucketUsage:
        """The counts now."""
        with self._lock:
            return BucketUsage(
                part=self.part,
                hits=dict(self._hits),
                real=self._real,
                padding=self._padding,
                compiles=self._compiles,
                compiles_in_service=self._compiles_in_service,
            )


class Collector:
    """Makes Prometheus metrics of the counts when it is asked, and costs nothing in between.

    ``snapshots`` gives the counts: those of this process, or those that another one has sent. Register it with
    ``prometheus_client.REGISTRY``. With several API servers prometheus_client adds up files instead and asks no
    collector.
    """

    def __init__(
        self, snapshots: Callable[[], Iterable[BucketUsage]], registry: CollectorRegistry | None = None
    ) -> None:
        self._snapshots = snapshots
        if registry is not None:
            registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """One metric family after the other."""
        from prometheus_client.metrics_core import CounterMetricFamily

        hits = CounterMetricFamily("accelplug_bucket_hits", "Calls by bucket.", labels=("part", "bucket"))
        elements = CounterMetricFamily(
            "accelplug_bucket_elements", "Elements run in buckets: real ones and padding.", labels=("part", "kind")
        )
        compiles = CounterMetricFamily(
            "accelplug_compiles", "Compilations, before and after the end of warm-up.", labels=("part", "when")
        )
        for usage in self._snapshots():
            for bucket, calls in usage.hits.items():
                hits.add_metric((usage.part, bucket), calls)
            elements.add_metric((usage.part, "real"), usage.real)
            elements.add_metric((usage.part, "padding"), usage.padding)
            compiles.add_metric((usage.part, "warm-up"), usage.compiles - usage.compiles_in_service)
            compiles.add_metric((usage.part, "service"), usage.compiles_in_service)
        yield from (hits, elements, compiles)
