"""``torch.compile`` on a simulated device, beside the CPU's eager results. test_compiled_graphs.py runs it, in its own
process for each device; ``python device_compiling.py [case...]`` says what failed, and how torch's caches helped."""

from __future__ import annotations

import json
import sys
import traceback

import compiled_basics  # noqa: F401
import compiled_kinds  # noqa: F401
import torch
from compiled_case import CASES, cases_of

import accelplug


def caches() -> dict[str, int]:
    """Hits and misses of both of torch's caches."""
    counters = torch._dynamo.utils.counters
    places = {"fxgraph": counters["inductor"], "autograd": counters["aot_autograd"]}
    return {
        f"{kind} {what}": place[f"{kind}_cache_{what}"] for kind, place in places.items() for what in ("hit", "miss")
    }


def main() -> None:
    device = str(accelplug.auto())
    lazy = not {"torch._dynamo", "torch._inductor"} & sys.modules.keys()
    failures: dict[str, str] = {}
    for name in sys.argv[1:] or cases_of(device):
        torch._dynamo.reset()
        torch.manual_seed(0)
        try:
            CASES[name](device)
        except BaseException:  # pytest.fail is one
            failures[name] = traceback.format_exc()
    print(json.dumps({"lazy": lazy, "failures": failures, "caches": caches()}))


if __name__ == "__main__":
    main()
