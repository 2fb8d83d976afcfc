"""The counts of buckets, and the metrics made of them."""

from __future__ import annotations

import threading
import time

from prometheus_client import CollectorRegistry, generate_latest

from accelplug.buckets import BucketUsage, Collector, Usage


def test_hits_padding_and_compilations_are_counted() -> None:
    usage = Usage("prefill")
    usage.hit("1024", real=1000, size=1024)
    usage.hit("1024", real=1024, size=1024)
    usage.compiled(in_service=False)
    usage.compiled(in_service=True)
    assert usage.snapshot() == BucketUsage(
        part="prefill", hits={"1024": 2}, real=2024, padding=24, compiles=2, compiles_in_service=1
    )


def test_waste_is_the_share_of_padding() -> None:
    assert BucketUsage(part="prefill", real=300, padding=100).waste == 0.25
    assert BucketUsage(part="prefill").waste == 0.0


class Hesitant(int):
    """A number that lets other threads run in the middle of an addition."""

    def __radd__(self, other: int) -> int:
        time.sleep(0)
        return other + int(self)


def test_no_count_is_lost_between_threads() -> None:
    usage = Usage("decode")

    def count() -> None:
        for _ in range(200):
            usage.hit("8", real=Hesitant(7), size=8)

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert usage.snapshot() == BucketUsage(part="decode", hits={"8": 1600}, real=11200, padding=1600)


def test_prometheus_sees_the_counts_when_it_asks() -> None:
    registry, usage = CollectorRegistry(), Usage("prefill")
    Collector(lambda: [usage.snapshot()], registry)
    usage.hit("64×8", real=500, size=512)
    usage.compiled(in_service=False)
    page = generate_latest(registry).decode()
    assert 'accelplug_bucket_hits_total{bucket="64×8",part="prefill"} 1.0' in page
    assert 'accelplug_bucket_elements_total{kind="padding",part="prefill"} 12.0' in page
    assert 'accelplug_compiles_total{part="prefill",when="warm-up"} 1.0' in page
    assert 'accelplug_compiles_total{part="prefill",when="service"} 0.0' in page
