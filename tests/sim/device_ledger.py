"""What falls back on a simulated device, as seen by the ledger. Prints what each case found, as JSON by name.

The lines that tests look for have a comment that names them.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch

import accelplug

TIMES = 1000


said: list[str] = []


class Kept(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        said.append(record.getMessage())


logging.getLogger("accelplug").addHandler(Kept(level=logging.WARNING))
log = logging.getLogger("accelplug")
log.propagate = False

dev = accelplug.auto()
D = str(dev)


def rows(report: accelplug.FallbackReport) -> dict[str, Any]:
    """What fell back, by operator and device: calls, bytes, whether it took time, where first."""
    named = {f"{row.op} {row.device}{' compiled' * row.compiled}": row for row in report.rows}
    return {name: [row.calls, row.bytes, bool(row.nanoseconds), row.site] for name, row in named.items()}


def raised(function: Callable[[], object]) -> list[str]:
    try:
        function()
    except Exception as error:
        return [type(error).__name__, str(error)]
    return []


def factories_and_slices(x: torch.Tensor) -> None:
    torch.full((4, 4), 2.0, device=D)  # full
    x.fill_(3.0)
    torch.arange(16, device=D)  # positions
    x[1:3] = 1.0
    x[:, 1:].contiguous()


def in_a_graph(x: torch.Tensor, ids: torch.Tensor) -> tuple[torch.Tensor, ...]:
    filled = torch.full((4, 4), 2.0, device=x.device)  # full in a graph
    positions = torch.arange(16, device=x.device)  # positions in a graph
    y = x.clone()
    y[1:3].fill_(3.0)  # slice in a graph
    return filled + y, (positions + ids).cumsum(0)[2:5]  # cumsum in a graph


def c14_eager() -> dict[str, Any]:
    x = torch.zeros(4, 4).to(D)
    accelplug.fallback_report(reset=True)
    said.clear()
    with accelplug.fallback(policy="warn", time=True):
        for _ in range(TIMES):
            factories_and_slices(x)
        report = accelplug.fallback_report()
    zero = raised(lambda: accelplug.fallback(calls=0)(factories_and_slices)(x))
    return {"rows": rows(report), "said": said[:], "within": report.transfers.within_calls, "zero": zero}


def c14_compiled() -> dict[str, Any]:
    import torch._functorch.config

    torch._functorch.config.bundled_autograd_cache = True
    x, ids = torch.zeros(4, 4).to(D), torch.ones(16, dtype=torch.int64).to(D)
    compiled = torch.compile(in_a_graph, backend="accelplug")
    compiled(x, ids)
    accelplug.fallback_report(reset=True)
    for _ in range(TIMES):
        compiled(x, ids)
    report = accelplug.fallback_report()

    def few() -> None:
        with accelplug.fallback(ops={"prims::iota": 2}):
            for _ in range(3):
                compiled(x, ids)

    found = {key: value for key, value in torch._dynamo.utils.counters["aot_autograd"].items() if "cache" in key}
    return {"rows": rows(report), "share": report.native_share, "few": raised(few), "caches": found}


def scopes() -> dict[str, Any]:
    x = torch.zeros(4).to(D)
    accelplug.fallback_report(reset=True)
    found = {}
    with accelplug.fallback(policy="error"):
        with accelplug.fallback(policy="allow"):
            x.fill_(1)
        found["forbidden"] = raised(lambda: x.fill_(1))
        found["native"] = raised(lambda: x + x)
        found["copies"] = raised(lambda: (x.cpu(), x.clone(), torch.empty(3, device=D), x[1:]))
    found["outside"] = raised(lambda: x.fill_(1))
    with accelplug.fallback(calls=5):
        with accelplug.fallback(ops={"aten::fill_*": 1}):
            found["inner"] = [bool(raised(lambda: x.fill_(1))) for _ in range(2)]
        found["outer"] = [bool(raised(lambda: x.cumsum(0))) for _ in range(4)]
    with accelplug.fallback(bytes="32B"):
        found["bytes"] = [raised(lambda: x.cumsum(0)) for _ in range(2)]
    found["budgets"] = accelplug.fallback_report(reset=True).budgets
    found["after reset"] = accelplug.fallback_report().rows
    found["misspelt"] = raised(lambda: accelplug.fallback(policy="eror"))
    found["no such op"] = raised(lambda: accelplug.fallback(ops={"aten::cumsun": 0}).__enter__())
    return found


def backward() -> dict[str, Any]:
    def loss() -> torch.Tensor:
        return torch.ones(4).to(D).requires_grad_(True).cumsum(0).sum()

    accelplug.fallback_report(reset=True)
    loss().backward()  # backward
    report = accelplug.fallback_report()
    pending = loss()
    with accelplug.fallback(policy="error"):
        refused = raised(pending.backward)
    return {"rows": rows(report), "refused": refused, "again": raised(lambda: loss().backward())}


def models() -> dict[str, Any]:
    accelplug.fallback_report(reset=True)
    torch.nn.LSTM(8, 8).to(D)(torch.ones(3, 2, 8).to(D))[0].sum().backward()
    q = torch.ones(1, 2, 4, 8).to(D)
    torch.nn.functional.scaled_dot_product_attention(q, q, q)
    report = accelplug.fallback_report()
    return {"ops": [row.op for row in report.rows], "native": report.native_calls, "share": report.native_share}


def threads() -> dict[str, Any]:
    devices = getattr(torch, dev.name).device_count()
    allowed, refused = [], []

    def work(number: int) -> None:
        x = torch.zeros(16).to(f"{D}:{number % devices}")
        for _ in range(300):
            (refused if raised(lambda: torch.multinomial(x + 1, 1)) else allowed).append(1)

    accelplug.fallback_report(reset=True)
    with accelplug.fallback(ops={"aten::multinomial": 1001}):
        workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        [worker.start() for worker in workers]
        [worker.join() for worker in workers]
    counted = [row.calls for row in accelplug.fallback_report().rows if row.op == "aten::multinomial"]
    return {"allowed": len(allowed), "refused": len(refused), "counted": sum(counted), "devices": len(counted)}


def scraped() -> dict[str, Any]:
    from prometheus_client import CollectorRegistry, generate_latest

    from accelplug.tables import fallback_metrics

    registry = CollectorRegistry()
    fallback_metrics.register(registry)
    x = torch.zeros(4).to(D)
    accelplug.fallback_report(reset=True)
    x.cumsum(0), x.cumsum(0), x + x
    return {"text": generate_latest(registry).decode()}


if __name__ == "__main__":
    print(json.dumps({name: globals()[name]() for name in sys.argv[1:]}, default=str))
