"""What a vLLM server is doing, from two scrapes of its metrics: counts from the second, rates from both."""

from __future__ import annotations

from pydantic import Field

from accelplug.servers.exposition import Samples
from accelplug.specs.record import Record


class Fallback(Record):
    """An operator that falls back to the CPU: in all, and a second now."""

    op: str
    device: str
    calls: int
    bytes: int
    calls_per_second: float
    bytes_per_second: float


class KernelUse(Record):
    """A kernel of the device's table and the calls it has run: in all, and a second now."""

    kernel: str
    op: str
    calls: int
    calls_per_second: float


class BucketUse(Record):
    """A bucket and how often it was used; ``part`` is what uses it, such as ``prefill``."""

    part: str
    bucket: str
    hits: int


class ServerStatus(Record):
    """A server at one moment. What the server doesn't say is None.

    device, decided_by, simulated, version
        What accelplug chose, why, and its version; None where the server runs without accelplug.
    seconds
        Between the two scrapes: what rates are over.
    prompt_tokens_per_second, generation_tokens_per_second
        Over that time.
    running, waiting
        Requests.
    kv_cache_usage
        The share of the KV cache that is in use, 0 to 1, of the fullest engine.
    native_share
        The share of eager and compiled operator calls that the device, or a kernel of its own, ran; 0 to 1.
    native_calls
        Operator calls that the device ran itself, in all; those that kernels ran are in ``kernels``.
    steps
        Of the workers, in all.
    to_device_per_step, to_host_per_step
        Copies between host and device within a worker's step, over that time; None where no step was.
    padding_share
        The share of what ran in buckets that was padding, 0 to 1.
    compiles, compiles_in_service
        In all, and after warm-up.
    """

    url: str
    seconds: float = Field(gt=0)
    models: tuple[str, ...] = ()
    device: str | None = None
    decided_by: str | None = None
    simulated: bool | None = None
    version: str | None = None
    prompt_tokens_per_second: float | None = None
    generation_tokens_per_second: float | None = None
    running: int | None = None
    waiting: int | None = None
    kv_cache_usage: float | None = None
    native_share: float | None = None
    native_calls: int | None = None
    steps: int | None = None
    to_device_per_step: float | None = None
    to_host_per_step: float | None = None
    padding_share: float | None = None
    compiles: int | None = None
    compiles_in_service: int | None = None
    fallbacks: tuple[Fallback, ...] = ()
    kernels: tuple[KernelUse, ...] = ()
    buckets: tuple[BucketUse, ...] = ()


def status(url: str, before: Samples, now: Samples, seconds: float) -> ServerStatus:
    """Of two scrapes that are ``seconds`` apart."""
    rates = _Rates(before, now, seconds)
    info = next((sample.labels for sample in now.of("accelplug_device_info")), None)
    compiles = now.sums("accelplug_compiles_total", "when")
    return ServerStatus(
        url=url,
        seconds=seconds,
        models=tuple(name for (name,) in now.sums("vllm:num_requests_running", "model_name") if name),
        device=info["device"] if info else None,
        decided_by=info["decided_by"] if info else None,
        simulated=info["simulated"] == "true" if info else None,
        version=info["version"] if info else None,
        prompt_tokens_per_second=rates.total("vllm:prompt_tokens_total"),
        generation_tokens_per_second=rates.total("vllm:generation_tokens_total"),
        running=_whole(now.total("vllm:num_requests_running")),
        waiting=_whole(now.total("vllm:num_requests_waiting")),
        kv_cache_usage=max((sample.value for sample in now.of("vllm:kv_cache_usage_perc")), default=None),
        native_share=_native_share(now),
        native_calls=_whole(now.total("accelplug_native_calls_total")),
        steps=_whole(now.total("accelplug_steps_total")),
        to_device_per_step=_per_step(rates, "to_device"),
        to_host_per_step=_per_step(rates, "to_host"),
        padding_share=_padding_share(now),
        compiles=_whole(now.total("accelplug_compiles_total")),
        compiles_in_service=int(compiles.get(("service",), 0)) if compiles else None,
        fallbacks=_fallbacks(now, rates),
        kernels=_kernels(now, rates),
        buckets=_buckets(now),
    )


class _Rates:
    """How much counters have grown a second. One that has begun anew has grown by what it is."""

    def __init__(self, before: Samples, now: Samples, seconds: float) -> None:
        self.before, self.now, self.seconds = before, now, seconds

    def by(self, name: str, *labels: str) -> dict[tuple[str, ...], float]:
        before = self.before.sums(name, *labels)
        return {key: self._grown(before.get(key, 0), value) for key, value in self.now.sums(name, *labels).items()}

    def total(self, name: str) -> float | None:
        return sum(self.by(name).values()) if self.now.of(name) else None

    def _grown(self, before: float, now: float) -> float:
        return (now - before if now >= before else now) / self.seconds


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


def _native_share(now: Samples) -> float | None:
    """None before anything ran, and where the device's SDK doesn't count."""
    own = (now.total("accelplug_native_calls_total") or 0) + (now.total("accelplug_kernel_calls_total") or 0)
    every = own + (now.total("accelplug_fallback_calls_total") or 0)
    return own / every if every else None


def _per_step(rates: _Rates, direction: str) -> float | None:
    steps = rates.total("accelplug_steps_total")
    return rates.by("accelplug_step_transfers_total", "direction").get((direction,), 0.0) / steps if steps else None


def _padding_share(now: Samples) -> float | None:
    elements = now.sums("accelplug_bucket_elements_total", "kind")
    every = sum(elements.values())
    return elements.get(("padding",), 0) / every if every else None


def _fallbacks(now: Samples, rates: _Rates) -> tuple[Fallback, ...]:
    """Most bytes first."""
    labels = ("op", "device")
    moved = now.sums("accelplug_fallback_bytes_total", *labels)
    calls_rate = rates.by("accelplug_fallback_calls_total", *labels)
    bytes_rate = rates.by("accelplug_fallback_bytes_total", *labels)
    found = [
        Fallback(
            op=key[0],
            device=key[1],
            calls=int(calls),
            bytes=int(moved.get(key, 0)),
            calls_per_second=calls_rate[key],
            bytes_per_second=bytes_rate.get(key, 0),
        )
        for key, calls in now.sums("accelplug_fallback_calls_total", *labels).items()
    ]
    return tuple(sorted(found, key=lambda row: (-row.bytes, -row.calls, row.op)))


def _kernels(now: Samples, rates: _Rates) -> tuple[KernelUse, ...]:
    """Most calls first."""
    labels = ("kernel", "op")
    rate = rates.by("accelplug_kernel_calls_total", *labels)
    found = [
        KernelUse(kernel=key[0], op=key[1], calls=int(calls), calls_per_second=rate[key])
        for key, calls in now.sums("accelplug_kernel_calls_total", *labels).items()
    ]
    return tuple(sorted(found, key=lambda row: (-row.calls, row.kernel)))


def _buckets(now: Samples) -> tuple[BucketUse, ...]:
    """Most hits first."""
    hits = now.sums("accelplug_bucket_hits_total", "part", "bucket")
    found = [BucketUse(part=part, bucket=bucket, hits=int(number)) for (part, bucket), number in hits.items()]
    return tuple(sorted(found, key=lambda row: (-row.hits, row.part, row.bucket)))
