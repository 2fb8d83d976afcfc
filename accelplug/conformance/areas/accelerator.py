"""Every public function of torch.accelerator answers for the device; code that knows no device by name uses these."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch

from accelplug.conformance.checks import NamedCheck, Skip, expect
from accelplug.conformance.subject import Subject

ask = torch.accelerator
REMEDY = "implement what it needs in the device's module, device guard or allocator"


def _is_available(subject: Subject) -> None:
    expect(ask.is_available() is True, "it says no")


def _current_accelerator(subject: Subject) -> None:
    for check_available in (False, True):
        current = ask.current_accelerator(check_available)
        expect(current == torch.device(subject.type), f"it is {current} with check_available={check_available}")


def _device_count(subject: Subject) -> dict[str, Any]:
    count = ask.device_count()
    wanted = subject.candidate.count
    expect(count == wanted, f"it is {count}, and the probe found {wanted}")
    return {"count": count}


def _device_index(subject: Subject) -> None:
    """The current device can be set, and set for a while, to each that there is."""
    before = ask.current_device_index()
    for index in range(ask.device_count()):
        with ask.device_index(index):
            current = ask.current_device_index()
            expect(current == index, f"inside device_index({index}) it is {current}")
            made = torch.empty(1, device=subject.type)
            expect(made.device.index == index, f"inside device_index({index}) a tensor is made on {made.device}")
    expect(ask.current_device_index() == before, "the index is not restored")


def _set_device_index(subject: Subject) -> None:
    last = ask.device_count() - 1
    for set_index in (ask.set_device_index, ask.set_device_idx):
        set_index(last)
        expect(ask.current_device_index() == ask.current_device_idx() == last, f"{last} was set, it is another")
        ask.set_device_index(0)


def _stream(subject: Subject) -> None:
    stream, before = torch.Stream(device=subject.type), ask.current_stream()
    ask.set_stream(stream)
    expect(ask.current_stream() == stream, "the stream that was set isn't the current one")
    ask.set_stream(before)
    expect(ask.current_stream() == before, "the stream from before can't be set again")


def _synchronize(subject: Subject) -> None:
    ask.synchronize()
    ask.synchronize(0)
    ask.synchronize(subject.type)


def _empty_cache(subject: Subject) -> None:
    held = torch.ones(1000, device=subject.type)
    ask.empty_cache()
    ask.empty_host_cache()
    expect(held.sum().item() == 1000, "a tensor that is in use was changed")


def _memory(subject: Subject) -> dict[str, Any]:
    """The counters are numbers of bytes, in an order that makes sense, with a tensor in use."""
    held = torch.ones(1 << 16, device=subject.type)
    counted = {name: getattr(ask, name)() for name in MEMORY}
    expect(all(isinstance(value, int) for value in counted.values()), f"not all are whole numbers: {counted}")
    expect(counted["memory_allocated"] >= held.nbytes, f"a tensor of {held.nbytes} bytes is in use: {counted}")
    expect(counted["memory_reserved"] >= counted["memory_allocated"], f"less is reserved than in use: {counted}")
    expect(counted["max_memory_allocated"] >= counted["memory_allocated"], f"the peak is below the present: {counted}")
    ask.reset_peak_memory_stats()
    ask.reset_accumulated_memory_stats()
    return counted


def _memory_stats(subject: Subject) -> None:
    stats = ask.memory_stats()
    expect("allocated_bytes.all.current" in stats, f"it has no allocated_bytes.all.current, only {sorted(stats)[:5]}")


def _memory_info(subject: Subject) -> dict[str, Any]:
    free, total = ask.get_memory_info()
    expect(0 < free <= total, f"{free} bytes are free of {total}")
    return {"free": free, "total": total}


def _capability(subject: Subject) -> dict[str, Any]:
    supported = ask.get_device_capability()["supported_dtypes"]
    rules = subject.constraints
    held = sorted(str(dtype).removeprefix("torch.") for dtype in supported)
    if rules.dtypes:
        wrong = sorted(set(rules.dtypes) - set(held))
        expect(not wrong, f"the backend's constraints hold {', '.join(wrong)}, which aren't in supported_dtypes")
    return {"supported_dtypes": held}


def _graph(subject: Subject) -> None:
    """Capturing graphs is for devices that have them; others refuse by name."""
    try:
        ask.Graph()
    except (RuntimeError, NotImplementedError) as error:
        raise Skip(f"the device has no graphs to capture: {str(error).splitlines()[0]}") from None


MEMORY = ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")
FUNCTIONS: dict[str, Callable[[Subject], Any]] = {
    "is_available": _is_available,
    "current_accelerator": _current_accelerator,
    "device_count": _device_count,
    **dict.fromkeys(("device_index", "current_device_index"), _device_index),
    **dict.fromkeys(("set_device_index", "set_device_idx", "current_device_idx"), _set_device_index),
    **dict.fromkeys(("current_stream", "set_stream"), _stream),
    "synchronize": _synchronize,
    **dict.fromkeys(("empty_cache", "empty_host_cache"), _empty_cache),
    **dict.fromkeys((*MEMORY, "reset_peak_memory_stats", "reset_accumulated_memory_stats"), _memory),
    "memory_stats": _memory_stats,
    "get_memory_info": _memory_info,
    "get_device_capability": _capability,
    "Graph": _graph,
}


def checks(subject: Subject) -> list[NamedCheck]:
    """One for each public name of this torch's torch.accelerator, also for those that the suite doesn't know yet."""
    return [NamedCheck(name, functools.partial(_checked, name), REMEDY) for name in sorted(ask.__all__)]


def _checked(name: str, subject: Subject) -> Any:
    if ask.current_accelerator() != torch.device(subject.type):
        raise Skip(f"{subject.type} is no accelerator to PyTorch")
    if name not in FUNCTIONS:
        raise Skip(f"torch {torch.__version__} has it, and this suite doesn't know it yet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # the names with idx are deprecated, and there
        warnings.simplefilter("ignore", DeprecationWarning)
        return FUNCTIONS[name](subject)
