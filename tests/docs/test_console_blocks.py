"""The commands in README.md and docs/ exist, take these options, and print what is shown."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import typer
from console_blocks import Command, commands
from fenced_blocks import BLOCKS, PAGES, ROOT, Block, runnable

from accelplug import settings
from accelplug.cli.app import app
from accelplug.hookspecs import ENTRY_POINTS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

COMMANDS = [command for block in runnable("console") for command in commands(block)]
KNOWN = {"accelplug", "cd", "curl", "git", "make", "pip", "pytest", "python", "vllm"}
MADE_UP = "acme"  # the documentation's chip
DEVICES = {"auto", MADE_UP, *(entry_point.name for entry_point in entry_points(group=ENTRY_POINTS))}
PARSER = Path(__file__).with_name("parse_vllm_commands.py")


def of(program: str) -> list[Command]:
    found = [command for command in COMMANDS if command.program == program]
    assert found, f"no {program!r} in the documentation: this test looks at nothing"
    return found


def test_each_command_is_one_that_these_tests_know() -> None:
    unknown = [str(command) for command in COMMANDS if command.program not in KNOWN]
    assert not unknown, f"say `<!-- not run: why -->` before the block: {unknown}"


@pytest.mark.parametrize("command", [pytest.param(each, id=str(each)) for each in of("accelplug")])
def test_accelplug_takes_the_command(command: Command) -> None:
    group = typer.main.get_command(app)
    words = [word.strip("[]") for word in itertools.takewhile(lambda word: word != "|", command.words)]  # a synopsis
    context = group.make_context("accelplug", words[1:])
    name, subcommand, arguments = group.resolve_command(context, [*context._protected_args, *context.args])
    subcommand.make_context(name, list(arguments), parent=context)


@pytest.mark.parametrize("command", [pytest.param(each, id=str(each)) for each in of("accelplug") if each.output])
def test_accelplug_prints_what_is_shown(command: Command, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "accelplug", *command.words[1:]],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1", **command.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    missing = not_in(done.stdout, command.output)
    assert not missing, f"{command}\ndoes not print\n{missing}\nbut\n{done.stdout}"


def not_in(printed: str, shown: str) -> list[str]:
    """The lines of ``shown`` that are not in ``printed``, in that order; ``…`` stands for anything."""
    rest, missing = [squeezed(line) for line in printed.splitlines()], []
    for line in filter(None, map(squeezed, shown.splitlines())):
        pattern = ".*".join(re.escape(part) for part in line.split("…"))
        place = next((number for number, other in enumerate(rest) if re.fullmatch(pattern, other)), None)
        if place is None:
            missing.append(line)
        else:
            rest = rest[place + 1 :]
    return missing


def squeezed(line: str) -> str:
    return " ".join(line.split())


def test_vllm_takes_the_options() -> None:
    lines = []
    for command in of("vllm"):
        words = command.words[1:]
        if "--device" in words:  # accelplug's own, which asks whether the device is here
            place = words.index("--device")
            known = {*words[place + 1].split(",")} <= DEVICES
            assert known or "unknown device" in command.output, command
            del words[place : place + 2]
        lines.append(words)
    done = subprocess.run(
        [sys.executable, str(PARSER)], input=json.dumps(lines), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("command", [pytest.param(each, id=str(each)) for each in COMMANDS if each.environment])
def test_settings_in_front_of_a_command_are_settings(command: Command) -> None:
    assert not settings.misspelt(command.environment), command
    settings.read({name: value for name, value in command.environment.items() if value != MADE_UP})


def test_make_has_the_targets() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert [str(command) for command in of("make") if not targets.issuperset(command.words[1:])] == []


def test_extras_are_those_of_the_package() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"].keys()
    named = {extra for page in PAGES for extra in re.findall(r"accelplug\[(\w+)\]", page.read_text(encoding="utf-8"))}
    assert named
    assert named <= extras


@pytest.mark.parametrize("block", [pytest.param(each, id=each.place) for each in BLOCKS if "not run" in each.markers])
def test_a_block_that_is_not_run_says_why_and_names_tests_that_there_are(block: Block) -> None:
    reason = block.markers["not run"]
    assert len(reason) > 10, "why is it not run?"
    for named in re.findall(r"\btests/[\w/.]+\.py", reason):
        assert (ROOT / named).is_file(), f"there is no {named}"
    pytest.skip(f"{block.place}: {reason}")  # so that pytest's summary lists it
