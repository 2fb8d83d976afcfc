"""Workers write what they count, and the process that serves metrics reads it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from accelplug_vllm.native import counting

WORKER = """
import sys, time
from accelplug_vllm.native import counting
counting.tell(sys.argv[1])
counting.MODEL.hit("64", 50, 64)
counting.MODEL.compiled(in_service=False)
time.sleep(60)
"""


def test_what_several_workers_count_is_added_up(tmp_path: Path) -> None:
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path)]) for _ in range(2)]
    try:
        end = time.monotonic() + 60
        while not (told := counting.told(str(tmp_path))) or told[0].compiles < 2:
            assert time.monotonic() < end, told
            time.sleep(0.1)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    (usage,) = told
    assert (usage.part, usage.hits, usage.real, usage.padding) == ("model", {"64": 2}, 100, 28)


def test_nothing_was_written_and_nothing_is_told(tmp_path: Path) -> None:
    assert counting.told(str(tmp_path)) == []


SERVER = """
import subprocess, sys, time
from prometheus_client import generate_latest
from accelplug_vllm import metrics
metrics.publish()
worker = "from accelplug_vllm import handoff; import sys; sys.argv.append(handoff.left().counts);" + sys.argv[1]
started = subprocess.Popen([sys.executable, "-c", worker])
end = time.monotonic() + 40
while 'accelplug_bucket_hits_total{bucket="64",part="model"} 1.0' not in (said := generate_latest().decode()):
    assert time.monotonic() < end, said
    time.sleep(0.1)
started.kill()
print(said)
"""


def test_the_server_shows_what_its_workers_count(tmp_path: Path) -> None:
    environ = {**os.environ, "ACCELPLUG_SIMULATE": "neuron"}
    done = subprocess.run(
        [sys.executable, "-c", SERVER, WORKER], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert 'accelplug_bucket_elements_total{kind="padding",part="model"} 14.0' in done.stdout
    assert 'accelplug_compiles_total{part="model",when="warm-up"} 1.0' in done.stdout
