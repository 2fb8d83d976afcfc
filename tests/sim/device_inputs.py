"""Inputs of every shape and layout on a simulated device, beside the CPU: right values, or a refusal.

test_inputs.py runs it, in a process of its own for each device; it prints what failed.
"""

from __future__ import annotations

import functools
import json
import traceback
from collections.abc import Callable, Iterator

import torch

import accelplug

Op = Callable[[torch.Tensor], torch.Tensor]
HUGE = 2**31 + 8
VIEWS: dict[str, Op] = {
    "whole": lambda x: x,
    "offset rows": lambda x: x[2:5],
    "offset columns": lambda x: x[:, 3:6],
    "every other column": lambda x: x[:, 1::2],
    "transposed": lambda x: x.t(),
    "transposed with an offset": lambda x: x[1:4, 2:7].t(),
    "expanded": lambda x: x[3:4].expand(5, 8),
    "expanded in a new dimension": lambda x: x[2].expand(3, 8),
    "windows that overlap": lambda x: x.as_strided((4, 3), (2, 1), 5),
    "diagonal": lambda x: x.diagonal(1),
    "0-dim": lambda x: x[4, 4],
    "no element": lambda x: x[3:3],
    "no element, two dimensions": lambda x: x[:, 8:],
}
OPS: dict[str, Op] = {
    "elementwise": lambda x: x * 2 + 1,
    "sum": lambda x: x.sum(),
    "flatten": lambda x: x.reshape(-1) + 1,
    "softmax": lambda x: x.softmax(-1),
    "comparison": lambda x: (x > 1.5).to(x.dtype),
    "gather": lambda x: x.unsqueeze(0)[[0]],
}
WRITES: dict[str, Op] = {
    "add_": lambda x: x.add_(1),
    "copy_": lambda x: x.copy_(x * 2),
    "zero_": lambda x: x.zero_(),
}
WRITABLE = [name for name in VIEWS if "expanded" not in name and "overlap" not in name]

# Compiled, each layout is a graph of its own. Inductor calls PyTorch's kernel for the first; the others, which it makes
# C++ code for, run on a few layouts only.
COMPILED_OPS: dict[str, Op] = {
    "sort": lambda x: x.sort(-1, descending=True).values,
    "elementwise": OPS["elementwise"],
}
COMPILED_WRITES = {"add_": WRITES["add_"]}
FEW = ("offset rows", "offset columns")


def cases(device: str, compiled: bool) -> Iterator[tuple[str, Callable[[], None]]]:
    """The name of each case, and what raises where it is wrong."""
    run = accelplug.compile if compiled else lambda function: function
    base = torch.arange(64.0).reshape(8, 8) / 16

    def reads(view: str, function: Op, plain: Op) -> None:
        got = function(VIEWS[view](base.to(device)))
        assert got.device.type == torch.device(device).type
        torch.testing.assert_close(got.cpu(), plain(VIEWS[view](base)))

    def writes(view: str, function: Op, plain: Op) -> None:
        ours, theirs = base.to(device), base.clone()
        function(VIEWS[view](ours))
        plain(VIEWS[view](theirs))
        torch.testing.assert_close(ours.cpu(), theirs)

    for op, plain in (COMPILED_OPS if compiled else OPS).items():
        function = run(plain)
        for view in FEW if compiled and op != "sort" else VIEWS:
            yield f"{op} of {view}", functools.partial(reads, view, function, plain)
    for op, plain in (COMPILED_WRITES if compiled else WRITES).items():
        function = run(plain)
        for view in FEW if compiled else WRITABLE:
            yield f"{op} on {view}", functools.partial(writes, view, function, plain)

    last = run(lambda x: x[-3:].sort().values)

    def huge() -> None:
        one = torch.tensor([1.0, 5.0]).to(device)[1:].expand(HUGE)
        assert one.numel() == HUGE
        assert last(one).tolist() == [5, 5, 5]

    def huge_without_data() -> None:
        meta = torch.empty(HUGE, dtype=torch.int8, device="meta")
        assert last(meta).shape == (3,)
        assert torch.empty_like(meta[:4], device=device).shape == (4,)

    yield "more than 2^31 elements", huge
    yield "more than 2^31 elements without data", huge_without_data


def failure_of(check: Callable[[], None]) -> str:
    try:
        check()
    except Exception:
        return traceback.format_exc()
    return ""


def main() -> None:
    torch._dynamo.config.recompile_limit = 64
    device = str(accelplug.auto())
    failures = {}
    for how in ("eager", "compiled"):
        for name, check in cases(device, how == "compiled"):
            if failure := failure_of(check):
                failures[f"{how} {name}"] = failure
    print(json.dumps(failures))


if __name__ == "__main__":
    main()
