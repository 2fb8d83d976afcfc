"""The process that measures on one device: it says its plan, then answers requests, a line of JSON each.

Started by `accelplug.bench.processes`.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any

import torch

import accelplug
from accelplug.bench import timing
from accelplug.bench.layers import layers
from accelplug.bench.operators import operators
from accelplug.bench.records import Measured
from accelplug.bench.roofline import roofline
from accelplug.bench.task import Request, Task
from accelplug.bench.workloads import QUICK_STEPS, STEPS, Call, Place, Workload
from accelplug.interpreters import voice

LONGEST = 300  # characters of an exception's message that a record keeps


def main(task: str) -> None:
    """Answers requests from standard input until that ends."""
    say = voice()
    bench = _Bench(Task.model_validate_json(task))
    say(plan=[workload.key for workload in bench.workloads])
    for line in sys.stdin:
        say(**bench.answer(Request.model_validate_json(line)))


def workloads(task: Task) -> list[Workload]:
    """What the task asks for, by step."""
    size = getattr(torch, task.dtype).itemsize
    steps = QUICK_STEPS if task.quick else STEPS
    every = [workload for step in steps for made in (operators, layers) for workload in made(task.model, step, size)]
    return [workload for workload in every if task.wants(workload.name)]


class _Bench:
    """The live device, and the call that is ready on it."""

    def __init__(self, task: Task) -> None:
        device = accelplug.select(task.device)
        self._place = Place(device.torch_device, getattr(torch, task.dtype))
        host = self._place.device.type == "cpu"
        self._wait: Callable[[], None] = (lambda: None) if host else torch.accelerator.synchronize
        self.workloads = workloads(task)
        self._ready: tuple[int, Call, Measured] | None = None

    def answer(self, request: Request) -> dict[str, Any]:
        """What came of a request. An exception is part of the answer, and the next request starts afresh."""
        try:
            if request.workload is None:
                return {"roofline": roofline(self._place, self._wait).model_dump()}
            return {"measured": self._measured(request.workload).model_dump()}
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            self._ready = None
            return {"error": _said(error)}

    def _measured(self, index: int) -> Measured:
        """One round. The inputs stay on the device for the rounds to come, until another workload is asked for."""
        if self._ready is None or self._ready[0] != index:
            self._ready = None  # before the next one's inputs need the memory
            self._ready = index, *self._made_ready(self.workloads[index])
        _, call, found = self._ready
        return found.model_copy(update={"seconds": timing.seconds(call, self._wait)})

    def _made_ready(self, workload: Workload) -> tuple[Call, Measured]:
        call = workload.on(self._place)
        first = timing.first(call, self._wait)
        accelplug.fallback_report(reset=True)
        call()
        self._wait()
        seen = accelplug.fallback_report(reset=True)
        return call, Measured(
            step=workload.step,
            name=workload.name,
            kind=workload.kind,
            per_step=workload.per_step,
            flops=workload.flops,
            bytes=workload.bytes,
            first_seconds=first,
            fell_back=tuple(dict.fromkeys(row.op for row in seen.rows)),
            kernels=tuple(kernel.kernel for kernel in seen.kernels),
        )


def _said(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}".strip().splitlines()[0]
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"
