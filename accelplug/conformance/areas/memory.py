"""Device memory is counted, given back, and its end is an error that a program survives."""

from __future__ import annotations

import gc
from typing import Any

import torch

from accelplug.conformance.checks import Skip, check, expect
from accelplug.conformance.subject import Subject

ALLOCATOR = "register a DeviceAllocator that counts, not a plain Allocator"
MIB = 1 << 20


def _counted(subject: Subject) -> None:
    if torch.accelerator.current_accelerator() != torch.device(subject.type):
        raise Skip(f"PyTorch counts no memory on {subject.type}")


def _allocated() -> int:
    gc.collect()
    return int(torch.accelerator.memory_allocated())


@check(ALLOCATOR)
def what_a_tensor_takes_is_counted_and_given_back(subject: Subject) -> dict[str, Any]:
    _counted(subject)
    before = _allocated()
    held = torch.empty(4 * MIB, dtype=torch.uint8, device=subject.type)
    taken = _allocated() - before
    expect(4 * MIB <= taken < 8 * MIB, f"a tensor of {4 * MIB} bytes takes {taken}")
    del held
    expect(_allocated() == before, f"{_allocated() - before} bytes are not given back")
    return {"taken": taken}


@check(ALLOCATOR)
def a_view_takes_nothing_and_keeps_its_memory(subject: Subject) -> None:
    _counted(subject)
    held = torch.ones(MIB, dtype=torch.uint8, device=subject.type)
    before = _allocated()
    view = held[10:20].view(2, 5)
    expect(_allocated() == before, "a view takes memory of its own")
    del held
    expect(_allocated() == before, "the memory was given back, and a view is still on it")
    expect(view.cpu().tolist() == [[1] * 5] * 2, "the view's values are gone")


@check("count the most that was in use; reset_peak_memory_stats() starts anew from what is in use then")
def the_peak_is_the_most_that_was_in_use(subject: Subject) -> dict[str, Any]:
    _counted(subject)
    before = _allocated()
    torch.accelerator.reset_peak_memory_stats()
    held = [torch.empty(MIB, dtype=torch.uint8, device=subject.type) for _ in range(3)]
    del held
    peak = torch.accelerator.max_memory_allocated() - before
    expect(3 * MIB <= peak < 6 * MIB, f"three tensors of {MIB} bytes were in use, the peak is {peak}")
    torch.accelerator.reset_peak_memory_stats()
    expect(torch.accelerator.max_memory_allocated() - _allocated() < MIB, "the peak is not reset")
    return {"peak": peak}


@check("a failed step must give back what it has taken: look for references in the SDK's queues")
def a_hundred_steps_take_no_more_than_one(subject: Subject) -> None:
    _counted(subject)
    model = torch.nn.Linear(64, 64).to(subject.type)

    def steps(number: int) -> int:
        for _ in range(number):
            model.zero_grad()
            model(torch.ones(8, 64, device=subject.type)).sum().backward()
        torch.accelerator.synchronize()
        return _allocated()

    steps(1)
    after_one, after_all = steps(1), steps(100)
    expect(after_all <= after_one, f"{after_all - after_one} bytes more are in use after a hundred steps")


@check("raise torch.OutOfMemoryError from the allocator, before anything has changed")
def running_out_of_memory_is_an_error_that_a_program_survives(subject: Subject) -> dict[str, Any]:
    _counted(subject)
    _, total = torch.accelerator.get_memory_info()
    before = _allocated()
    try:
        torch.empty(total + MIB, dtype=torch.uint8, device=subject.type)
    except torch.OutOfMemoryError as error:
        said = str(error).splitlines()[0]
    else:
        raise AssertionError(f"{total + MIB} bytes were allocated on a device that says it has {total}")
    expect(_allocated() == before, "the failed allocation is counted")
    expect(torch.ones(1000, device=subject.type).sum().item() == 1000, "the device doesn't work any more")
    return {"said": said}


@check("implement pin_memory in the device's hooks, with a host allocator that knows its own")
def pinned_memory_says_so_and_is_copied(subject: Subject) -> None:
    _counted(subject)
    pinned = torch.arange(1000.0).pin_memory()
    expect(pinned.is_pinned(), "pin_memory() gives a tensor that isn't pinned")
    expect(torch.equal(pinned.to(subject.type, non_blocking=True).cpu(), torch.arange(1000.0)), "the copy is wrong")
    expect(not torch.arange(3.0).is_pinned(), "an ordinary tensor says that it is pinned")
