"""The processes that a server starts use the device that it chose, or stop."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from accelplug_vllm import handoff

PARENT = """
import multiprocessing, os, sys

def decided():
    from accelplug_vllm import resolution
    resolution.decide()

class Configuration:
    "As vLLM's own: a process that is started reads it, and that asks for the platform."
    def __reduce__(self):
        return decided, ()

def child(configuration):
    from vllm.platforms import current_platform
    from accelplug_vllm import resolution
    print(type(current_platform).__name__, resolution.decide().selection.decided_by, flush=True)

if __name__ == "__main__":
    from accelplug_vllm import handoff
    handoff.leave(handoff.Handoff(device=sys.argv[1], pid=os.getpid()))
    process = multiprocessing.get_context("spawn").Process(target=child, args=(Configuration(),))
    process.start()
    process.join()
    print("parent", os.getpid(), "child", process.pid, "exit", process.exitcode)
"""


def run(device: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """A process that chose ``device`` and starts a child."""
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    environ = {**os.environ, "ACCELPLUG_DEVICE": "neuron"}  # what the child inherits otherwise must not matter
    command = [sys.executable, str(script), device]
    return subprocess.run(command, capture_output=True, text=True, env=environ, check=False)


def test_a_child_takes_its_parents_choice(tmp_path: Path) -> None:
    done = run("cpu", tmp_path)
    assert "AccelplugCpuPlatform the server's process" in done.stdout, done.stderr
    assert "exit 0" in done.stdout


def test_a_child_that_cannot_use_it_stops_and_names_both_processes(tmp_path: Path) -> None:
    done = run("cuda", tmp_path)
    ended = re.fullmatch(r"parent (\d+) child (\d+) exit (-?\d+)\n", done.stdout)
    assert ended, done.stdout + done.stderr
    parent, child, code = ended.groups()
    assert code != "0"
    assert f"process {parent} chose cuda, which its child {child} can't use" in done.stderr


def test_the_choice_is_not_taken_by_a_process_that_another_program_started(monkeypatch: pytest.MonkeyPatch) -> None:
    handoff.leave(handoff.Handoff(device="cuda", pid=1))
    assert handoff.received() is None
