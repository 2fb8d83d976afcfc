"""The commands of a console block, and what each is said to print."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from fenced_blocks import Block

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*=")


@dataclass(frozen=True)
class Command:
    """``words`` begins with the program; ``output`` is empty where the block shows none."""

    block: Block
    environment: dict[str, str]
    words: list[str]
    output: str

    def __str__(self) -> str:
        return f"{self.block.place}: {shlex.join(self.words)}"

    @property
    def program(self) -> str:
        return self.words[0].rpartition("/")[2]


def commands(block: Block) -> list[Command]:
    """The commands of a block, in order: the lines that begin with ``$ ``, or all where none does."""
    text = re.sub(r" *\\\n *", " ", block.text)
    lines = [line for line in text.splitlines() if line.strip()]
    if not any(line.startswith("$ ") for line in lines):
        return [_command(block, line, "") for line in lines]
    sessions = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return [_command(block, *(session.split("\n", 1) if "\n" in session else (session, ""))) for session in sessions]


def _command(block: Block, line: str, output: str) -> Command:
    words = shlex.split(line, comments=True)
    environment = dict(block.environment)
    while words and _VARIABLE.match(words[0]):
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    assert words, f"{block.place}: {line!r} has no command"
    return Command(block, environment, words, output.strip("\n"))
