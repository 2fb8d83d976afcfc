"""Counters of other processes at the server's metrics: through files, or through prometheus_client's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from accelplug_vllm import worker_metrics
from prometheus_client import CollectorRegistry, Gauge, generate_latest

SERVER = """
import multiprocessing, os, sys, time, urllib.request
from accelplug_vllm import handoff, worker_metrics

def work():
    from prometheus_client.core import CounterMetricFamily
    class Steps:
        def collect(self):
            made = CounterMetricFamily("accelplug_test_steps", "Steps.", labels=("device",))
            made.add_metric(("neuron:0",), 21)
            yield made
    worker_metrics.add(Steps())
    time.sleep(60)

if __name__ == "__main__":
    handoff.leave(handoff.Handoff(device="neuron", pid=os.getpid()))
    worker_metrics.receive()
    worker_metrics.receive()
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, daemon=True) for _ in range(2)]
    [worker.start() for worker in workers]
    from prometheus_client import generate_latest
    {registry}
    deadline = time.monotonic() + 50
    while time.monotonic() < deadline:
        page = generate_latest(registry).decode()
        if 'accelplug_test_steps_total{{device="neuron:0"}} 42.0' in page:
            break
        time.sleep(0.1)
    [worker.kill() for worker in workers]
    print(page)
    print(handoff.left().folder)
"""
ONE_SERVER = "from prometheus_client import REGISTRY as registry"
SEVERAL = "from vllm.v1.metrics.prometheus import get_prometheus_registry as g; registry = g()"


def served(tmp_path: Path, registry: str, environ: dict[str, str]) -> list[str]:
    """What the program says: the metrics, and last the folder."""
    program = tmp_path / "server.py"
    program.write_text(SERVER.format(registry=registry))
    done = subprocess.run(
        [sys.executable, str(program)], env={**os.environ, **environ}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_counters_of_two_workers_are_added_up_and_no_file_is_left(tmp_path: Path) -> None:
    *page, folder = served(tmp_path, ONE_SERVER, {})
    assert 'accelplug_test_steps_total{device="neuron:0"} 42.0' in page
    assert "# TYPE accelplug_test_steps_total counter" in page
    assert folder
    assert not Path(folder).exists()


def test_with_several_api_servers_they_take_vllm_s_own_way(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    *page, _ = served(tmp_path, SEVERAL, {"PROMETHEUS_MULTIPROC_DIR": str(shared)})
    assert 'accelplug_test_steps_total{device="neuron:0"} 42.0' in page
    assert list(shared.glob("counter_*.db"))


def test_what_is_no_counter_is_refused_by_name() -> None:
    registry = CollectorRegistry()
    Gauge("accelplug_test_level", "A level.", registry=registry)
    with pytest.raises(ValueError, match="accelplug_test_level is a gauge"):
        worker_metrics.add(registry)


def test_a_folder_without_files_has_no_metrics(tmp_path: Path) -> None:
    registry = CollectorRegistry()
    registry.register(worker_metrics.Received(tmp_path))
    assert generate_latest(registry) == b""
