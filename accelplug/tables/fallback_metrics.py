"""The ledger's counts as Prometheus metrics, read when they are scraped and never before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily

from accelplug.tables import fallback

if TYPE_CHECKING:
    from prometheus_client.registry import CollectorRegistry


class FallbackCollector:
    """``accelplug_fallback_calls_total`` and ``_bytes_total`` by operator and device, and the calls that were native.

    ``device`` is ``"neuron:0"``. It has the counts of its own process, since the last reset of the ledger.
    """

    def collect(self) -> Iterator[CounterMetricFamily]:
        calls = CounterMetricFamily(
            "accelplug_fallback_calls", "Calls that fell back from the device to the CPU.", labels=("op", "device")
        )
        moved = CounterMetricFamily(
            "accelplug_fallback_bytes",
            "Bytes of operands and results that hardware would have moved for them, at most.",
            labels=("op", "device"),
        )
        native = CounterMetricFamily(
            "accelplug_native_calls", "Calls of operators that ran on the device.", labels=("device",)
        )
        for (op, device), (number, size) in fallback.totals(native=False).items():
            calls.add_metric((op, device), number)
            moved.add_metric((op, device), size)
        by_device: dict[str, int] = {}
        for (_, device), (number, _) in fallback.totals(native=True).items():
            by_device[device] = by_device.get(device, 0) + number
        for device, number in by_device.items():
            native.add_metric((device,), number)
        yield from (calls, moved, native)


def register(registry: CollectorRegistry) -> FallbackCollector:
    """Adds the metrics to ``registry``; once for each registry, as prometheus_client demands."""
    collector = FallbackCollector()
    registry.register(collector)
    return collector
