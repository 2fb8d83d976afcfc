"""Brings counters of the processes that compute to the server's ``GET /metrics``.

vLLM's server answers it in a process that runs no model: EngineCore and the workers are others. Where there are several
API servers, vLLM has prometheus_client share all metrics through files, and ours take that way. Where there is one, it
doesn't, and a process writes its own counters to a small file of its own once a second, in a folder that the server's
process has made; the server reads them when it is asked. Processes on other machines are not seen.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from prometheus_client import REGISTRY, Counter
from prometheus_client.core import CounterMetricFamily

from accelplug_vllm import handoff

PERIOD = 1.0  # seconds that what the server says may be behind
SHARED = "PROMETHEUS_MULTIPROC_DIR"  # set by vLLM where there are several API servers

Labels = tuple[tuple[str, str], ...]


class Collector(Protocol):
    """What prometheus_client calls one. It gives counters; threads may ask it."""

    def collect(self) -> Iterable[Any]:
        """Metric families."""


class Count(NamedTuple):
    """One counter's value. ``name`` is without ``_total``."""

    name: str
    documentation: str
    labels: Labels
    value: float


_lock = threading.Lock()
_collectors: list[Collector] = []


def add(collector: Collector) -> None:
    """From now on the counters of ``collector``, which are this process's, are at the server's ``GET /metrics``.

    Raises ValueError where it has metrics that are no counters: only those can be added up over processes.
    """
    list(_counts([collector]))
    with _lock:
        _collectors.append(collector)
        server = handoff.left()
        if server is None or server.pid == os.getpid():  # vLLM runs in one process
            REGISTRY.register(collector)
        elif len(_collectors) == 1:
            _begin(server)


def receive() -> None:
    """In the process that starts a server, before it starts others: makes the way for their counters."""
    left, folder = handoff.left(), handoff.folder()
    if left and left.pid == os.getpid() and folder and SHARED not in os.environ:
        _serve(folder)


@functools.cache
def _serve(folder: Path) -> None:
    REGISTRY.register(Received(folder))


class Received:
    """The counters that other processes have written to ``folder``, added up."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterator[CounterMetricFamily]:
        """One family for each name that some process has."""
        found: dict[str, tuple[str, dict[Labels, float]]] = {}
        for path in sorted(self._folder.glob("*.json")):
            for name, documentation, labels, value in json.loads(path.read_text(encoding="utf-8")):
                sums = found.setdefault(name, (documentation, {}))[1]
                key = tuple((label, text) for label, text in labels)
                sums[key] = sums.get(key, 0) + value
        for name, (documentation, sums) in found.items():
            family = CounterMetricFamily(name, documentation, labels=[label for label, _ in next(iter(sums))])
            for key, value in sums.items():
                family.add_metric([text for _, text in key], value)
            yield family


def _begin(server: handoff.Handoff) -> None:
    """Sends once a second, to where the server looks."""
    send: Callable[[list[Count]], None]
    if SHARED in os.environ:
        send = _Shared()
    elif folder := handoff.folder():
        send = functools.partial(_write, folder / f"{os.getpid()}.json")
    else:
        return  # started by a process that serves no metrics

    ended = threading.Event()

    def run() -> None:
        while not ended.wait(PERIOD):
            send(_now())

    thread = threading.Thread(target=run, name="accelplug-metrics", daemon=True)
    thread.start()

    def end() -> None:  # before the device goes, which the counters ask
        ended.set()
        thread.join(PERIOD)

    atexit.register(end)


def _now() -> list[Count]:
    with _lock:
        collectors = list(_collectors)
    return list(_counts(collectors))


def _counts(collectors: Iterable[Collector]) -> Iterator[Count]:
    for collector in collectors:
        for family in collector.collect():
            if family.type != "counter":
                raise ValueError(
                    f"{family.name} is a {family.type}; what comes from other processes has to be a counter"
                )
            for sample in family.samples:
                if sample.name.endswith("_total"):  # and not the time at which a counter was made
                    yield Count(family.name, family.documentation, tuple(sample.labels.items()), sample.value)


def _write(path: Path, counts: list[Count]) -> None:
    """At once: who reads the file sees all of it. The folder is gone when the server has ended."""
    unfinished = path.with_suffix(".tmp")
    try:
        unfinished.write_text(json.dumps(counts), encoding="utf-8")
        unfinished.replace(path)
    except FileNotFoundError:
        return


class _Shared:
    """Adds what has come since to counters that prometheus_client shares. One that has begun anew adds what it is."""

    def __init__(self) -> None:
        self._counters: dict[str, Counter] = {}
        self._before: dict[tuple[str, Labels], float] = {}

    def __call__(self, counts: list[Count]) -> None:
        for count in counts:
            if count.name not in self._counters:
                labels = [label for label, _ in count.labels]
                self._counters[count.name] = Counter(count.name, count.documentation, labels)
            before = self._before.get((count.name, count.labels), 0)
            grown = count.value - before if count.value >= before else count.value
            self._counters[count.name].labels(**dict(count.labels)).inc(grown)
            self._before[count.name, count.labels] = count.value
