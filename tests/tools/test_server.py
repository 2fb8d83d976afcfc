"""`make serve`: what is said while vLLM starts and when it doesn't, and no process is left behind."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import ends

from tools import server

LOG = [
    "Triton is installed, but doesn't include CPU backend. Disabling Triton.",
    "(APIServer pid=12) INFO 11-30 14:51:30 [model.py:733] Resolved architecture: LlamaForCausalLM",
    "(EngineCore pid=14) INFO 11-30 14:51:52 [default_loader.py:430] Loading weights took 0.99 seconds",
    "(EngineCore pid=14) WARNING 11-30 14:51:52 [system_utils.py:255] Found ulimit of 20000",
    "Loading safetensors checkpoint shards: 100% Completed",
]


def test_progress_is_what_vllm_last_said_that_it_does() -> None:
    assert server.phase(LOG) == "Loading weights took 0.99 seconds"
    assert server.phase(LOG[:2]) == "Resolved architecture: LlamaForCausalLM"
    assert server.phase(LOG[:1]) == ""


def test_the_end_of_a_log_skips_empty_lines_and_unfolds_progress_bars(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("one\n10%\r100%\n\n")
    assert server.last_lines(log, 2) == ["10%", "100%"]


@pytest.fixture
def vllm_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes a stand-in for the `vllm` command out of a shell script; returns where its log will be."""

    def make(script: str) -> Path:
        vllm = tmp_path / "vllm"
        vllm.write_text(f"#!/bin/sh\n{script}\n")
        vllm.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
        return tmp_path / "log"

    return make


def test_a_server_that_ends_early_is_reported_with_the_end_of_its_log(vllm_that: Callable[[str], Path]) -> None:
    log = vllm_that("echo no such model: $2; exit 3")
    with pytest.raises(server.ServerError, match="ended with 3") as failure, server.serving("some/model", log=log):
        pass
    assert "no such model: some/model" in str(failure.value)


def test_a_server_that_never_answers_is_given_up_and_leaves_no_process(vllm_that: Callable[[str], Path]) -> None:
    log = vllm_that("sleep 600 & echo $!; wait")
    with pytest.raises(server.ServerError, match="has not answered for 3 s"), server.serving("m", log=log, timeout=3):
        pass
    assert ends(int(log.read_text()))


def test_a_worker_that_ignores_the_polite_signal_is_ended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "GRACE", 0.5)
    worker = "trap '' TERM; sleep 600 & echo $!; wait; wait"
    process = subprocess.Popen(["sh", "-c", worker], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    server._stop(process)
    process.stdout.close()
    assert process.returncode is not None
    assert ends(child)
