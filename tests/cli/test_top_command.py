"""``accelplug top``: a look as text and JSON, in narrow terminals, and where the server is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from accelplug.cli import render_top
from accelplug.cli.app import app
from accelplug.servers.status import ServerStatus
from tests.servers.web import answering

RECORDED = Path(__file__).parents[1] / "servers"
ONCE = ("--once", "--interval", "0.1")


@pytest.fixture
def server() -> Iterator[str]:
    """A server whose metrics are those of a real one, before and after it has answered."""
    pages = iter([(RECORDED / "neuron_before.txt").read_text(), (RECORDED / "neuron_after.txt").read_text()])
    with answering(lambda method, path: (200, next(pages))) as url:
        yield url


def test_one_look_as_text(server: str) -> None:
    done = CliRunner().invoke(app, ["top", server, *ONCE])
    assert done.exit_code == 0, done.output
    for said in (
        "neuron (simulated)",
        "decided by ACCELPLUG_SIMULATE",
        "tokens/s",
        "KV cache",
        "native calls",
        "aten::exponential_",
    ):
        assert said in done.stdout


def test_one_look_as_json(server: str) -> None:
    done = CliRunner().invoke(app, ["top", f"{server}/metrics", *ONCE, "--json"])
    assert ServerStatus.model_validate_json(done.stdout).device == "neuron"


def test_json_is_of_one_look() -> None:
    done = CliRunner().invoke(app, ["top", "--json"])
    assert (done.exit_code, "give --once too" in done.stderr) == (2, True)


def test_a_server_that_is_no_vllm_ends_with_1() -> None:
    with answering(lambda method, path: (200, "up 1\n")) as url:
        done = CliRunner().invoke(app, ["top", url])
    assert done.exit_code == 1
    assert "this is no vLLM server" in done.stderr


def test_a_vllm_without_accelplug_says_so() -> None:
    with answering(lambda method, path: (200, "vllm:num_requests_running 1\n")) as url:
        done = CliRunner().invoke(app, ["top", url, *ONCE])
    assert done.exit_code == 0
    assert "this vLLM runs without accelplug" in done.stdout


@pytest.mark.parametrize(("width", "height"), [(80, 24), (60, 24), (120, 50)])
def test_it_fits_the_terminal(crowded: ServerStatus, width: int, height: int) -> None:
    out = Console(width=width, height=height, force_terminal=True, color_system=None, record=True)
    with out.capture() as shown:
        out.print(render_top.view(crowded, width, height))
    lines = shown.get().splitlines()
    assert max(map(len, lines)) <= width
    assert len(lines) < height


@pytest.fixture
def crowded() -> ServerStatus:
    """More of everything than fits."""
    rows = [{"op": f"aten::{'long_' * 8}{i}", "device": "neuron:0", "calls": 10**9, "bytes": 10**12} for i in range(40)]
    rates = {"calls_per_second": 123456.7, "bytes_per_second": 1e9}
    return ServerStatus.model_validate(
        {
            "url": "http://box:8000",
            "seconds": 2.0,
            "models": ["a/model"],
            "device": "neuron",
            "decided_by": "priority",
            "simulated": True,
            "version": "0.1.0",
            "generation_tokens_per_second": 12345.6,
            "kv_cache_usage": 0.95,
            "native_share": 0.999,
            "compiles": 10,
            "compiles_in_service": 2,
            "fallbacks": [row | rates for row in rows],
            "kernels": [
                {"kernel": f"nki/k{i}", "op": "aten::mm", "calls": 10, "calls_per_second": 1.0} for i in range(40)
            ],
            "buckets": [{"part": "prefill", "bucket": f"{i}x8", "hits": 10} for i in range(40)],
        }
    )
