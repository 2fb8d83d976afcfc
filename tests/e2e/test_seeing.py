"""A real server on a simulated device, seen from outside: metrics, ``accelplug top``, the timeline of a request."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from openai import OpenAI

from accelplug.servers.status import ServerStatus
from accelplug.sim import build
from accelplug.tracing import Kind, TraceSummary, chrome
from accelplug.tracing.timeline import timeline
from tools.server import Server, serving

pytestmark = pytest.mark.e2e

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
SMALL = ("--max-model-len", "256", "--max-num-seqs", "4", "--enforce-eager", "--kv-cache-memory-bytes", "128M")
PROMPT = "The capital of France is"


@pytest.fixture(scope="module")
def server(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Started so that it can record."""
    build.library()
    folder = tmp_path_factory.mktemp("seeing")
    arguments = ("--trace-dir", str(folder / "traces"), "--served-model-name", "model", *SMALL)
    environ = {"HF_HUB_OFFLINE": "1", "ACCELPLUG_SIMULATE": "neuron"}
    with serving(str(checkpoint), *arguments, log=folder / "log", environ=environ, program="accelplug") as running:
        OpenAI(base_url=f"{running.url}/v1", api_key="none").completions.create(model="model", prompt=PROMPT)
        yield running


def accelplug(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "accelplug", *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def exported(server: Server) -> set[str]:
    """The names of accelplug's metrics on the server's page."""
    with urllib.request.urlopen(f"{server.url}/metrics") as answer:
        found = re.findall(r"^(accelplug_\w+)\{", answer.read().decode(), re.MULTILINE)
    return {name for name in found if not name.endswith("_created")}


def test_the_metrics_have_what_the_workers_counted_and_the_docs_list_them(server: Server) -> None:
    listed = set(re.findall(r"^\| `(accelplug_\w+)` \|", PAGE.read_text(), re.MULTILINE))
    # It uses no buckets, and no kernel takes a call.
    absent = ("accelplug_bucket", "accelplug_compiles", "accelplug_kernel")
    wanted = {name for name in listed if not name.startswith(absent)}
    deadline = time.monotonic() + 60  # counts come once a second
    while not wanted <= (names := exported(server)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert wanted <= names <= listed


def test_top_shows_the_device_and_what_ran_on_it(server: Server, tmp_path: Path) -> None:
    now = ServerStatus.model_validate_json(
        accelplug("top", server.url, "--once", "--interval", "0.5", "--json", cwd=tmp_path).stdout
    )
    assert (now.device, now.simulated, now.models) == ("neuron", True, ("model",))
    assert now.native_share is not None
    assert now.native_share > 0.5
    assert "aten::exponential_" in {row.op for row in now.fallbacks}


def test_the_timeline_of_a_request_has_the_device_s_lane_and_each_step(server: Server, tmp_path: Path) -> None:
    options = ("--max-tokens", "4", "--html", "trace.html", "--json")
    done = accelplug("trace", "--url", server.url, "--prompt", PROMPT, *options, cwd=tmp_path)
    numbers = TraceSummary.model_validate(json.loads(done.stdout))
    assert "Paris" in (numbers.answer or "")
    made = timeline(chrome.read(tmp_path / "trace.json"))
    assert made.lanes[0].owner == "neuron:0 (simulated)"
    steps = [event.name for event in made.events() if event.kind is Kind.step]
    assert [step for step in steps if step.startswith("execute_context_1(")], "the prompt"
    assert len(steps) >= 4, "one for each token"
    assert "neuron:0 (simulated)" in (tmp_path / "trace.html").read_text()
