"""The Python in README.md and docs/ runs as it stands there, page by page, each in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest
from console_blocks import commands
from fenced_blocks import MARKERS, PAGES, ROOT, Block, blocks_of

RUNNER = Path(__file__).with_name("run_blocks.py")

Program = tuple[dict[str, str], list[dict[str, str]]]


def steps(page: Path) -> Iterator[tuple[Block, dict[str, str], str]]:
    """The page's blocks that are Python, with their environment; a session in a console block is one of its own."""
    for block in blocks_of(page):
        if "not run" in block.markers:
            continue
        if block.language == "python":
            yield block, block.environment, block.text
        elif block.language == "console" and ">>> " in block.text:
            (command,) = commands(block)
            yield block, command.environment, command.output


def programs(page: Path) -> list[Program]:
    """What runs in one process: a page's blocks up to the next that has an environment, or is a session."""
    numbered, number = [], 0
    for block, environment, text in steps(page):
        alone = block.language == "console"
        number += alone or bool(environment)
        step = {"place": block.place, "before": block.markers.get("before", ""), "text": text}
        numbered.append((number, environment, step))
        number += alone
    grouped = [list(group) for _, group in groupby(numbered, key=lambda step: step[0])]
    return [(group[0][1], [step for _, _, step in group]) for group in grouped]


@pytest.fixture(scope="module")
def runner() -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "COLUMNS": "200", "PYTHONWARNINGS": "ignore", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, str(RUNNER)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.mark.parametrize(
    ("environment", "blocks"),
    [pytest.param(*program, id=program[1][0]["place"]) for page in PAGES for program in programs(page)],
)
def test_the_blocks_run(
    environment: dict[str, str], blocks: list[dict[str, str]], runner: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert runner.stdin is not None
    assert runner.stdout is not None
    program = {"folder": str(tmp_path), "environment": environment, "blocks": blocks}
    print(json.dumps(program), file=runner.stdin, flush=True)
    ended = json.loads(runner.stdout.readline())
    assert ended["code"] == 0, ended["output"]


def test_a_page_says_what_is_taken_for_granted_only_where_it_is_used() -> None:
    for page in PAGES:
        comments = re.findall(rf"<!-- *({'|'.join(MARKERS)}):", page.read_text(encoding="utf-8"))
        used = [marker for block in blocks_of(page) for marker in block.markers]
        assert {*used} <= {*MARKERS}, f"{page.relative_to(ROOT)}: a comment before a block begins with one of {MARKERS}"
        assert sorted(comments) == sorted(used), f"{page.relative_to(ROOT)}: a comment that no block follows"
