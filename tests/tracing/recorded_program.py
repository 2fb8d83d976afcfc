"""Records what runs on a simulated device in one trace: operators of each kind, a step, a bucket, a compiled graph."""

from __future__ import annotations

import sys

import torch

import accelplug
from accelplug.buckets import marked

dev = accelplug.auto()
D = str(dev)
x = torch.ones(128, 128, dtype=torch.bfloat16)


def twice(y: torch.Tensor) -> torch.Tensor:
    return (y @ y).relu() * 2


with accelplug.trace(sys.argv[1], html=sys.argv[2]) as recording:
    with torch.profiler.record_function("ProfilerStep#0"):
        y = x.to(D)
        y = y @ y
        y = torch.linalg.inv(y.float() + torch.eye(128).to(D)) if dev.name == "neuron" else y.cumsum(0)
        y.cpu()
    with marked("prefill", "128"):
        torch.relu(y)
    torch.compile(twice, backend="accelplug")(x.to(D))

print(recording.summary.model_dump_json())
