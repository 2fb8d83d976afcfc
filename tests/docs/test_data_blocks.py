"""TOML, JSON and YAML in README.md and docs/ are what they say; every block has a language that is looked at."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
import yaml
from fenced_blocks import BLOCKS, ROOT, Block, runnable

from accelplug import settings
from accelplug.sim import profile

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

RUN = {"python", "console", "toml", "json", "yaml", "imports"}
SHOWN = {"text", "promql"}
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
GROUPS = {group for group in PYPROJECT["project"]["entry-points"] if group.startswith("accelplug.")}
COMMAND = re.compile(r"^(\$ |>>> |accelplug [a-z]+ |vllm [a-z]+ |make [a-z]+)", re.MULTILINE)


def test_every_block_has_a_language_that_the_tests_look_at_or_is_text_without_commands() -> None:
    for block in BLOCKS:
        assert block.language in RUN | SHOWN, f"{block.place}: {block.language!r} is none of {sorted(RUN | SHOWN)}"
        if block.language == "text" and "not run" not in block.markers:
            assert not COMMAND.search(block.text), f"{block.place} has a command: make it a console block"


@pytest.mark.parametrize("block", [pytest.param(block, id=block.place) for block in runnable("toml")])
def test_toml_is_settings_a_profile_or_a_pyproject_as_its_title_says(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tomllib.loads(block.text)
    file = tmp_path / block.title
    file.write_text(block.text, encoding="utf-8")
    if block.title == "accelplug.toml":
        assert settings.read({"ACCELPLUG_CONFIG": str(file)}).sources.keys() == data.keys()
    elif block.title == "pyproject.toml":
        assert GROUPS & data["project"]["entry-points"].keys(), f"{block.place}: not an entry point of ours"
    else:
        assert block.title.endswith(".toml"), f"{block.place}: title it accelplug.toml, pyproject.toml or as a profile"
        profile.find(str(file))


def test_json_and_yaml_can_be_read() -> None:
    for block in runnable("json", "yaml"):
        assert (json.loads if block.language == "json" else yaml.safe_load)(block.text) is not None, block.place
