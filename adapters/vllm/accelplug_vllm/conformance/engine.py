"""vLLM's engine in a process of its own, run once for all checks of an area that look at it."""

from __future__ import annotations

import functools
import json
import os
from dataclasses import dataclass, field
from typing import Any

from accelplug.conformance.checks import Skip, expect
from accelplug.conformance.programs import Program
from accelplug.conformance.subject import Subject
from accelplug_vllm.conformance import here

LIMIT = 300.0  # seconds from start to end
CODE = "from accelplug_vllm.conformance.engine_program import main; main(sys.argv[1])"
ALONE = {"HF_HUB_OFFLINE": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": "0"}


@dataclass(frozen=True)
class Run:
    """What the program said (see `engine_program`), and how it ended: "" for well."""

    said: dict[str, Any] = field(default_factory=dict)
    end: str = ""

    def __getitem__(self, name: str) -> Any:
        """Raises Skip where the engine got no answers: the check of its start says why."""
        if self.end:
            raise Skip("the engine did not get as far")
        return self.said[name]

    def must_have_ended_well(self) -> None:
        expect(not self.end, self.end)


def run(subject: Subject, prompts: list[list[int]], tokens: int, **options: Any) -> Run:
    """Starts an engine on the device with ``options`` for ``LLM``, and asks for ``tokens`` tokens to each prompt,
    twice. The same call again gives the same run."""
    task = {
        "options": here.small(here.dtype_name(subject)) | {"skip_tokenizer_init": True} | options,
        "prompts": prompts,
        "tokens": tokens,
    }
    return _run(subject.name, json.dumps(task))


@functools.cache
def _run(device: str, task: str) -> Run:
    environ = ALONE | {"ACCELPLUG_DEVICE": device, "PYTHONPATH": os.pathsep.join(here.search_path())}
    said, end = Program(CODE, task, **environ).until_the_end(LIMIT)
    lines = [line for line in said.splitlines() if line.startswith('{"answers"')]
    if not lines:
        return Run(end=end or "the engine's process said nothing")
    return Run(json.loads(lines[-1]), end)
