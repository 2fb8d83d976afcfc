"""Why a server can't go on, from a worker to whoever asks the server."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

SERVER = """
import os, subprocess, sys
from accelplug_vllm import handoff, last_words
from vllm.entrypoints.serve import create_error_response
from vllm.v1.engine.exceptions import EngineDeadError

handoff.leave(handoff.Handoff(device="neuron", pid=os.getpid()))
last_words.receive()

def answer():
    error = create_error_response(EngineDeadError(suppress_context=True)).error
    print(error.code, error.message)

answer()
for words in ("neuron:0 is lost", "neuron:1 is lost too"):
    worker = f"from accelplug_vllm import last_words; last_words.leave({words!r})"
    subprocess.run([sys.executable, "-c", worker], check=True)
answer()
print(handoff.folder())
"""


def test_requests_that_fail_get_the_first_that_was_left_and_may_be_sent_again(
    python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = python(SERVER)
    assert done.returncode == 0, done.stderr
    before, after, folder = done.stdout.splitlines()
    assert before == "500 EngineCore encountered an issue. See stack trace (above) for the root cause."
    assert after == "503 neuron:0 is lost"
    assert not Path(folder).exists()


def test_without_a_server_there_is_nobody_to_leave_them_for(
    python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = python("from accelplug_vllm import last_words; last_words.leave('lost'); print(repr(last_words.left()))")
    assert done.stdout == "''\n", done.stderr
