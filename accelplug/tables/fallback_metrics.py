"""The ledger's counts as Prometheus metrics, read when they are scraped and never before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily

from accelplug.tables import fallback

if TYPE_CHECKING:
    from prometheus_client.registry import CollectorRegistry

CROSSING = ("to_device", "to_host")  # as the fields of StepTransfers begin
DIRECTIONS = (*CROSSING, "within")  # and those of Transfers


class FallbackCollector:
    """What fell back, by operator; what the device ran, and which of its kernels; copies and steps.

    ``device`` is ``"neuron:0"``, or the device type where counts are of all indices. They are the counts of this
    process, since the last reset of the ledger. docs/metrics.md lists them.
    """

    def collect(self) -> Iterator[CounterMetricFamily]:
        yield from self._fallbacks()
        yield self._native()
        yield self._kernels()
        yield from self._transfers()
        yield from self._steps()

    def _fallbacks(self) -> Iterator[CounterMetricFamily]:
        calls = CounterMetricFamily(
            "accelplug_fallback_calls", "Calls that fell back from the device to the CPU.", labels=("op", "device")
        )
        moved = CounterMetricFamily(
            "accelplug_fallback_bytes",
            "Bytes of operands and results that hardware would have moved for them, at most.",
            labels=("op", "device"),
        )
        for (op, device), (number, size) in fallback.totals(native=False).items():
            calls.add_metric((op, device), number)
            moved.add_metric((op, device), size)
        yield from (calls, moved)

    def _native(self) -> CounterMetricFamily:
        native = CounterMetricFamily(
            "accelplug_native_calls", "Calls of operators that ran on the device.", labels=("device",)
        )
        by_device: dict[str, int] = defaultdict(int)
        for (_, device), (number, _) in fallback.totals(native=True).items():
            by_device[device] += number
        for device, number in by_device.items():
            native.add_metric((device,), number)
        return native

    def _kernels(self) -> CounterMetricFamily:
        labels = ("op", "provider", "kernel", "device")
        ran = CounterMetricFamily(
            "accelplug_kernel_calls", "Calls that a kernel of the device's backend ran, eagerly.", labels=labels
        )
        for device, count in fallback.kernel_counts():
            ran.add_metric((count.op, count.kernel.partition("/")[0], count.kernel, device), count.calls)
        return ran

    def _transfers(self) -> Iterator[CounterMetricFamily]:
        labels = ("direction", "device")
        copies = CounterMetricFamily("accelplug_transfers", "Copies to, from and within the device.", labels=labels)
        moved = CounterMetricFamily("accelplug_transfer_bytes", "Bytes that they moved.", labels=labels)
        for device, transfers in fallback.transfers().items():
            for direction in DIRECTIONS:
                copies.add_metric((direction, device), getattr(transfers, f"{direction}_calls"))
                moved.add_metric((direction, device), getattr(transfers, f"{direction}_bytes"))
        yield from (copies, moved)

    def _steps(self) -> Iterator[CounterMetricFamily]:
        steps = CounterMetricFamily("accelplug_steps", "Steps of a server on the device.", labels=("device",))
        labels = ("direction", "device")
        copies = CounterMetricFamily(
            "accelplug_step_transfers", "Copies to and from the device in them.", labels=labels
        )
        moved = CounterMetricFamily("accelplug_step_transfer_bytes", "Bytes that those moved.", labels=labels)
        for device, counted in fallback.steps().items():
            steps.add_metric((device,), counted.steps)
            for direction in CROSSING:
                copies.add_metric((direction, device), getattr(counted, f"{direction}_calls"))
                moved.add_metric((direction, device), getattr(counted, f"{direction}_bytes"))
        yield from (steps, copies, moved)


def register(registry: CollectorRegistry) -> FallbackCollector:
    """Adds the metrics to ``registry``; once for each registry, as prometheus_client demands."""
    collector = FallbackCollector()
    registry.register(collector)
    return collector
