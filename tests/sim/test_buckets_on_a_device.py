"""``accelplug.compile(model, buckets=...)`` on a simulated device that compiles static shapes only."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

LENGTHS = """
from torch._dynamo.utils import counters
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 2))
cpu = {n: model(torch.ones(2, n, 4)) for n in range(1, 9)}
buckets = accelplug.Buckets(
    ladders={"length": (2, 8)},
    arguments={"input": {1: "length"}},
    fill={"input": 0.0},
    outputs={"": {1: "length"}},
)
compiled = accelplug.compile(model.to(D), buckets=buckets, fullgraph=True)
compiled.warm_up(torch.ones(2, 1, 4, device=D))
with compiled.no_more_compiles():
    for n, want in cpu.items():
        got = compiled(torch.ones(2, n, 4, device=D))
        assert got.device.type == D
        torch.testing.assert_close(got.cpu(), want)
print(counters["stats"]["unique_graphs"], compiled.usage.snapshot().compiles)
try:
    compiled(torch.ones(2, 9, 4, device=D))
except accelplug.AccelplugError as error:
    print(error)
"""


@pytest.mark.parametrize("device", ["neuron", "spyre"])
def test_each_bucket_is_compiled_once_and_longer_inputs_are_refused(device: str, simulated: Run) -> None:
    done = simulated(device, LENGTHS)
    assert done.stdout == "2 2\nlength 9 is above the largest bucket, 8; buckets: 2,8\n"
    assert "2 shapes to compile (length: 8, 2)" in done.stderr
