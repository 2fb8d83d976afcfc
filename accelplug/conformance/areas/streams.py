"""Streams and events exist and order work."""

from __future__ import annotations

from typing import Any

import torch

from accelplug.conformance.checks import Skip, check, expect
from accelplug.conformance.subject import Subject

GUARD = "implement it in the device's guard (c10::impl::DeviceGuardImplInterface)"


def _stream(subject: Subject) -> torch.Stream:
    if torch.accelerator.current_accelerator() != torch.device(subject.type):
        raise Skip(f"PyTorch has no streams on {subject.type}")
    return torch.Stream(device=subject.type)


@check(GUARD)
def a_stream_is_current_inside_with_and_not_after(subject: Subject) -> None:
    stream = _stream(subject)
    before = torch.accelerator.current_stream()
    with stream:
        expect(torch.accelerator.current_stream() == stream, "inside `with stream` another one is current")
    expect(torch.accelerator.current_stream() == before, "after `with stream` it still is current")


@check(GUARD)
def each_device_has_streams(subject: Subject) -> None:
    _stream(subject)
    for index in range(torch.accelerator.device_count()):
        device = torch.device(subject.type, index)
        stream = torch.Stream(device=device)
        expect(stream.device == device, f"a stream for {device} is on {stream.device}")


@check(GUARD)
def work_on_a_stream_is_done_after_synchronize(subject: Subject) -> None:
    stream = _stream(subject)
    with stream:
        result = torch.ones(256, 256, device=subject.type) @ torch.ones(256, 256, device=subject.type)
    stream.synchronize()
    expect(stream.query(), "after synchronize() the stream says it has work left")
    expect(bool((result.cpu() == 256).all()), "the result is wrong")


@check(GUARD)
def one_stream_waits_for_anothers_event(subject: Subject) -> None:
    first, second = _stream(subject), _stream(subject)
    with first:
        made = torch.full((1 << 16,), 3.0, device=subject.type)
        event = first.record_event()
    with second:
        second.wait_event(event)
        doubled = made * 2
    made.record_stream(second)
    second.synchronize()
    expect(event.query(), "the event isn't done, and a stream that waits for it is")
    expect(bool((doubled.cpu() == 6).all()), "the second stream saw a tensor that wasn't ready")


@check(GUARD)
def events_measure_time(subject: Subject) -> dict[str, Any]:
    _stream(subject)
    start, end = (torch.Event(device=subject.type, enable_timing=True) for _ in range(2))
    start.record()
    torch.ones(512, 512, device=subject.type) @ torch.ones(512, 512, device=subject.type)
    end.record()
    end.synchronize()
    taken = start.elapsed_time(end)
    expect(taken > 0, f"a product of matrices took {taken} ms")
    return {"ms": round(taken, 4)}
