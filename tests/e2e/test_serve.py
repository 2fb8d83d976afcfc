"""A real vLLM serves a real model over HTTP on the device that accelplug picks."""

from __future__ import annotations

import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from asking import QUESTION
from openai import OpenAI

from tools.server import Server, serving

pytestmark = pytest.mark.e2e

SMALL = ("--max-model-len", "1024", "--max-num-seqs", "16", "--enforce-eager", "--gpu-memory-utilization", "0.2")


@pytest.fixture(scope="module")
def server(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    log = tmp_path_factory.mktemp("server") / "vllm.log"
    arguments = ("--device", "auto", "--served-model-name", "model", *SMALL)
    with serving(str(checkpoint), *arguments, log=log, environ={"HF_HUB_OFFLINE": "1"}) as running:
        yield running


@pytest.fixture
def client(server: Server) -> OpenAI:
    return OpenAI(base_url=f"{server.url}/v1", api_key="none", timeout=300)


def vllm_children(pid: int) -> list[int]:
    """The child processes that vLLM has named as its own; others come and go, such as the one that asks for the CPU."""
    found = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    rows = [line.split(maxsplit=1) for line in found.stdout.splitlines()]
    return [int(child) for child, command in rows if command.startswith("VLLM::")]


def alive(group: int) -> list[str]:
    """The processes of a group that are more than an entry waiting to be reaped."""
    listed = subprocess.run(["ps", "-o", "stat=,args=", "-g", str(group)], capture_output=True, text=True, check=False)
    return [line for line in listed.stdout.splitlines() if not line.startswith("Z")]


def test_the_capital_of_france_is_paris(client: OpenAI) -> None:
    answer = client.chat.completions.create(model="model", messages=QUESTION, temperature=0)
    assert "Paris" in (answer.choices[0].message.content or "")


def test_a_streamed_answer_comes_in_pieces(client: OpenAI) -> None:
    stream = client.chat.completions.create(model="model", messages=QUESTION, temperature=0, stream=True)
    words = [chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices]
    assert "Paris" in "".join(words)
    assert len(words) > 2


def test_ten_requests_at_once_are_all_answered(client: OpenAI) -> None:
    def ask(_: int) -> str | None:
        answer = client.chat.completions.create(model="model", messages=QUESTION, temperature=0)
        return answer.choices[0].message.content

    with ThreadPoolExecutor(10) as pool:
        answers = [*pool.map(ask, range(10))]
    assert all(answer and "Paris" in answer for answer in answers)


def test_the_metrics_name_the_device_and_count_the_selection(server: Server) -> None:
    with urllib.request.urlopen(f"{server.url}/metrics") as answer:
        metrics = answer.read().decode()
    assert 'accelplug_device_info{decided_by="priority",device="cpu"' in metrics
    assert 'accelplug_selections_total{decided_by="priority",device="cpu"} 1.0' in metrics
    assert 'accelplug_verdicts_total{device="neuron",verdict="no_hardware"} 1.0' in metrics
    assert "vllm:num_requests_running" in metrics, "vLLM's own are still there"


def test_the_selection_is_said_once_for_all_processes(server: Server) -> None:
    said = [line for line in server.log.read_text().splitlines() if "decided by" in line]
    assert len(said) == 1
    assert "device cpu, decided by priority" in said[0]
    assert "cuda" in said[0], "what was passed over"
    assert "executor uni" in said[0], "the defaults in force"


def test_the_worker_runs_inside_engine_core(server: Server) -> None:
    (engine_core,) = vllm_children(server.process.pid)
    assert vllm_children(engine_core) == []


def test_accelplug_serve_preloads_openmp_and_then_is_vllm_which_leaves_no_process(
    checkpoint: Path, tmp_path: Path
) -> None:
    with serving(str(checkpoint), "--device=cpu", *SMALL, log=tmp_path / "log", program="accelplug") as running:
        pid = running.process.pid
        group = os.getpgid(pid)
        assert b"vllm\0serve" in Path(f"/proc/{pid}/cmdline").read_bytes()
        assert b"libgomp" in Path(f"/proc/{pid}/environ").read_bytes()
    deadline = time.monotonic() + 10  # killed is not yet reaped
    while alive(group) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert alive(group) == []
