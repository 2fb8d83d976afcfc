"""The processes that a server starts use the device that it chose, or stop."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CHILD = """
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


def run(device: str, tmp_path: object) -> subprocess.CompletedProcess[str]:
    script = f"{tmp_path}/parent.py"
    with open(script, "w") as file:
        file.write(CHILD)
    environ = {**os.environ, "ACCELPLUG_DEVICE": "neuron"}  # what the child inherits otherwise must not matter
    return subprocess.run([sys.executable, script, device], capture_output=True, text=True, env=environ, check=False)


def test_a_child_takes_its_parents_choice(tmp_path: object) -> None:
    done = run("cpu", tmp_path)
    assert "AccelplugCpuPlatform the server's process" in done.stdout, done.stderr
    assert "exit 0" in done.stdout


def test_a_child_that_cannot_use_it_stops_and_names_both_processes(tmp_path: object) -> None:
    done = run("cuda", tmp_path)
    pids = done.stdout.split()
    assert pids[pids.index("exit") + 1] != "0"
    assert f"process {pids[1]} chose cuda, which its child {pids[3]} can't use" in done.stderr


def test_the_choice_is_not_taken_by_a_process_that_another_program_started(monkeypatch: pytest.MonkeyPatch) -> None:
    from accelplug_vllm import handoff

    handoff.leave(handoff.Handoff(device="cuda", pid=1))
    assert handoff.received() is None
