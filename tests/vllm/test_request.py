"""Reading ``--device`` ahead of vLLM's own parser."""

from __future__ import annotations

import pytest
from accelplug_vllm.request import from_command_line

from accelplug.errors import BadInputError

PYTHON = "/usr/bin/python3"


@pytest.mark.parametrize(
    ("argv", "device"),
    [
        ([PYTHON, "/usr/bin/vllm", "serve", "m", "--device", "cpu"], "cpu"),
        ([PYTHON, "/usr/bin/vllm", "serve", "m", "--device=cpu", "--port", "1"], "cpu"),
        ([PYTHON, "-u", "/usr/bin/vllm", "bench", "latency", "--device", "auto"], "auto"),
        ([PYTHON, "-m", "vllm.entrypoints.openai.api_server", "--device", "neuron,cuda"], "neuron,cuda"),
        ([PYTHON, "/usr/bin/vllm", "serve", "m", "--device", "cuda", "--device", "cpu"], "cpu"),
        ([PYTHON, "/usr/bin/vllm", "serve", "m"], None),
        ([PYTHON, "/usr/bin/vllm", "serve", "m", "--device-ids", "0"], None),
        ([PYTHON, "/usr/bin/vllm", "serve", "m", "--", "--device", "cpu"], None),
    ],
)
def test_the_flag_of_vllms_command_line_is_read(argv: list[str], device: str | None) -> None:
    assert from_command_line(argv) == device


@pytest.mark.parametrize(
    "argv",
    [
        [PYTHON, "train.py", "--device", "cuda:1"],
        [PYTHON, "-m", "trainer", "--device", "cuda"],
        [PYTHON, "-m", "vllmish", "--device", "cuda"],
        [PYTHON, "-c", "import vllm", "--device", "cuda"],
        [PYTHON],
    ],
)
def test_another_programs_flag_is_not_ours(argv: list[str]) -> None:
    assert from_command_line(argv) is None


def test_a_flag_and_a_variable_that_disagree_are_both_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELPLUG_DEVICE", "cuda")
    with pytest.raises(BadInputError, match="--device cpu and ACCELPLUG_DEVICE=cuda"):
        from_command_line([PYTHON, "vllm", "serve", "m", "--device", "cpu"])


@pytest.mark.parametrize(("flag", "variable"), [("auto", "cpu"), ("cpu", "auto"), ("cpu", "cpu"), ("cpu", "")])
def test_auto_and_equal_values_agree(flag: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELPLUG_DEVICE", variable)
    assert from_command_line([PYTHON, "vllm", "serve", "m", "--device", flag]) == flag
