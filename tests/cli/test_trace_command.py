"""``accelplug trace``: a script's timeline, and what is said where a server can't record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from accelplug.cli.app import app
from accelplug.tracing import TraceSummary, chrome
from tests.servers.web import answering

SCRIPT = """
import sys
import torch
print(torch.ones(4).add(1).sum().item(), sys.argv)
if "--fail" in sys.argv:
    sys.exit(3)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def test_a_script_runs_with_its_own_arguments_and_its_timeline_is_written(accelplug, script: Path) -> None:
    done = accelplug("trace", "--device", "cpu", "--html", "t.html", script.name, "--epochs", "1", "-o", "x")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("8.0 ['script.py', '--epochs', '1', '-o', 'x']\n")
    assert "written: trace.json (open it in ui.perfetto.dev)" in done.stdout
    assert "written: t.html (open it in a browser)" in done.stdout
    assert any(event["name"] == "aten::add" for event in chrome.read(script.parent / "trace.json")["traceEvents"])


def test_it_ends_as_the_script_does_and_the_timeline_is_written(accelplug, script: Path) -> None:
    done = accelplug("trace", "--device", "cpu", "-o", "t.json.gz", "--json", script.name, "--fail")
    assert done.returncode == 3
    numbers = TraceSummary.model_validate(json.loads(done.stdout.partition("\n")[2]))
    assert numbers.files == ("t.json.gz",)
    assert (script.parent / "t.json.gz").is_file()


def test_a_script_that_raises_ends_with_1_and_its_traceback(accelplug, script: Path) -> None:
    script.write_text("import torch\ntorch.ones(4).add(1)\n1 / 0\n")
    done = accelplug("trace", "--device", "cpu", script.name)
    assert done.returncode == 1
    assert 'script.py", line 3' in done.stderr
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert (script.parent / "trace.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give a Python script, or --url of a running server"),
        (["--url", "localhost:1", "run.py"], "give a Python script, or --url of a running server"),
        (["--url", "localhost:1"], "--url needs --prompt"),
        (["--url", "localhost:1", "--prompt", "x", "--shapes"], "--shapes is for a script"),
        (["--prompt", "x", "run.py"], "--prompt belongs to --url"),
        (["gone.py"], "there is no script gone.py"),
        (["-o", "/nowhere/t.json", "gone.py"], "--output /nowhere/t.json: there is no folder /nowhere"),
    ],
)
def test_bad_input_ends_with_2_and_says_what_to_give(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["trace", *arguments])
    assert (done.exit_code, said in done.stderr) == (2, True), done.stderr


PROFILER = {  # pages of a vLLM that was started with one
    "/start_profile": "{}",
    "/v1/completions": '{"choices": [{"text": "x"}]}',
    "/stop_profile": "{}",
}


def server(more: dict[str, str] | None = None, **metrics: str):
    """A vLLM with these metrics, whose values are folders, and with further pages than those that every one has."""
    info = "".join(f'{name}{{directory="{value}"}} 1.0\n' for name, value in metrics.items())
    pages = {
        "/metrics": f"vllm:num_requests_running 0\n{info}",
        "/v1/models": '{"data": [{"id": "m"}]}',
        **(more or {}),
    }

    def answer(method: str, path: str) -> tuple[int, str]:
        return (200, pages[path]) if path in pages else (404, '{"detail": "Not Found"}')

    return answering(answer)


def ask(url: str, *arguments: str):
    return CliRunner().invoke(app, ["trace", "--url", url, "--prompt", "Hello", *arguments])


def test_a_server_without_a_profiler_is_told_how_to_be_started(tmp_path: Path) -> None:
    with server(accelplug_device_info="") as url:
        done = ask(url)
    assert done.exit_code == 1
    assert "was started without a profiler; start it with `accelplug serve MODEL --trace-dir DIR`" in done.stderr
    with server() as url:
        done = ask(url, "--trace-dir", str(tmp_path))
    assert done.exit_code == 1
    assert "--profiler-config.profiler torch" in done.stderr


def test_a_server_without_accelplug_needs_its_folder() -> None:
    with server() as url:
        done = ask(url)
    assert done.exit_code == 1
    assert "doesn't say where it writes traces" in done.stderr


def test_a_folder_of_another_machine_is_an_error_that_says_so() -> None:
    with server(accelplug_profiler_info="/on/another/machine") as url:
        done = ask(url)
    assert done.exit_code == 2
    assert "there is no folder /on/another/machine here" in done.stderr


def test_a_server_that_writes_nothing_there_is_an_error_with_the_folder(tmp_path: Path) -> None:
    with server(PROFILER) as url:
        done = ask(url, "--trace-dir", str(tmp_path))
    assert done.exit_code == 1
    assert f"wrote no trace to {tmp_path}" in done.stderr
