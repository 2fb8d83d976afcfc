"""How far a workload is from what its device can reach, and what a vendor should do next. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass

from accelplug.bench.records import Bench, DeviceBench, Measured, Roofline
from accelplug.specs.word import Word

CALL_BOUND = 3.0  # a call that takes less than so many of the smallest ones is mostly the cost of calling
ADVICE = 6  # pieces of advice for a device
WORTH = 0.01  # of a step's time: what gains less is left out


class Bound(Word):
    """Which of its limits keeps a device from running a workload faster: how it moves bytes, or how it computes."""

    memory = "memory"
    compute = "compute"


def limit(measured: Measured, roofline: Roofline) -> float:
    """The seconds that a call takes at least: what it moves, or what it computes, at the device's own best."""
    return max(measured.bytes / roofline.bytes_per_second, measured.flops / roofline.flops_per_second)


def bound(measured: Measured, roofline: Roofline) -> Bound:
    """Which of the two takes longer."""
    computing = measured.flops / roofline.flops_per_second
    return Bound.compute if computing > measured.bytes / roofline.bytes_per_second else Bound.memory


def share(measured: Measured, roofline: Roofline) -> float:
    """What part of its limit a workload reaches. Above 1 where its data fit in a cache that a large copy doesn't."""
    return limit(measured, roofline) / measured.seconds


def best(bench: Bench, key: tuple[str, str]) -> float | None:
    """The seconds of the quickest device; None where none could run it."""
    times = [found.seconds for device in bench.devices if (found := device.get(key)) and not found.error]
    return min(times, default=None)


def step_seconds(device: DeviceBench, step: str) -> float:
    """What the operators of one step of the model take together."""
    operators = [each for each in device.measured if each.step == step and each.kind == "operator"]
    return sum(each.per_step * each.seconds for each in operators)


@dataclass(frozen=True)
class Advice:
    """One thing to do. ``gain`` is the part of its step's time that it would save if it reached the limit."""

    step: str
    name: str
    gain: float
    found: str
    what: str


def advice(device: DeviceBench) -> list[Advice]:
    """What to do next for a device: what can't be run at all, then what gains most."""
    if device.roofline is None:
        return []
    broken = [
        Advice(each.step, each.name, 1.0, each.error, "make it run: a kernel, a decomposition, or a fallback")
        for each in device.measured
        if each.error
    ]
    slow = [
        _of(each, device, device.roofline) for each in device.measured if each.kind == "operator" and not each.error
    ]
    worth = sorted((each for each in slow if each.gain >= WORTH), key=lambda each: -each.gain)
    return [*broken, *worth[: max(0, ADVICE - len(broken))]]


def _of(measured: Measured, device: DeviceBench, roofline: Roofline) -> Advice:
    at_least = limit(measured, roofline)
    gain = measured.per_step * max(0.0, measured.seconds - at_least) / step_seconds(device, measured.step)
    found = f"{share(measured, roofline):.0%} of the {bound(measured, roofline)} limit"
    if measured.fell_back:
        found = f"{', '.join(measured.fell_back)} ran on the CPU"
        what = "bring a kernel (hook accelplug_kernels) or a decomposition into what the device has"
    elif measured.seconds < CALL_BOUND * roofline.call_seconds:
        found += f"; a call of the smallest operator takes {roofline.call_seconds / measured.seconds:.0%} of this one"
        what = "make fewer calls: compile the layer, or fuse this with its neighbours"
    elif measured.kernels:
        what = f"tune {', '.join(measured.kernels)}, which ran it"
    else:
        what = "bring a kernel (hook accelplug_kernels) for this size"
    return Advice(measured.step, measured.name, gain, found, what)
