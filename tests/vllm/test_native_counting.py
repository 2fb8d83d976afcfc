"""Workers write what they count, and the process that serves metrics reads it."""

from __future__ import annotations

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
