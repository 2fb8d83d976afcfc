"""Writes a package from the templates: all of it, or nothing. Needs jinja2."""

from __future__ import annotations

import os
import shlex
import tempfile
from pathlib import Path

import accelplug
from accelplug.errors import BadInputError
from accelplug.files import require_folder
from accelplug.scaffold.answers import Answers
from accelplug.specs.record import Record

TEMPLATES = Path(__file__).parent / "templates"


class Written(Record):
    """A package that was written: where, its files from there, and the commands to give next, in order."""

    name: str
    directory: str
    files: tuple[str, ...]
    next: tuple[str, ...]


def write(answers: Answers, directory: Path) -> Written:
    """Writes the package into ``directory``, which must not be there yet.

    Raises BadInputError where it is, or can't be made; nothing is left behind then.
    """
    check_free(directory)
    texts = {path: _rendered(template, answers) for path, template in _templates(answers).items()}
    try:
        with tempfile.TemporaryDirectory(dir=directory.absolute().parent, prefix=f".{directory.name}.") as scratch:
            made = Path(scratch) / directory.name
            for path, text in texts.items():
                (made / path).parent.mkdir(parents=True, exist_ok=True)
                (made / path).write_text(text, encoding="utf-8")
            made.rename(directory)
    except OSError as error:
        raise BadInputError(f"{directory} can't be written: {error.strerror}") from error
    return Written(
        name=answers.name,
        directory=str(directory),
        files=tuple(sorted(texts)),
        next=(
            f"cd {shlex.quote(str(directory))}",
            "make test",
            f"ACCELPLUG_SIMULATE={answers.name} vllm serve MODEL --device {answers.name}",
        ),
    )


def check_free(directory: Path) -> None:
    """Raises BadInputError where something is at ``directory``, or there is no folder to make it in."""
    if os.path.lexists(directory):
        raise BadInputError(f"{directory} is there already; remove it, or give --directory")
    require_folder(directory, str(directory))


def _templates(answers: Answers) -> dict[str, str]:
    """The files of the package, and the template of each."""
    package = answers.package
    files = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        "Makefile": "Makefile",
        ".gitignore": "gitignore",
        ".github/workflows/test.yml": "test.yml",
        f"{package}/__init__.py": "package/__init__.py",
        f"{package}/probe.py": "package/probe.py",
        f"{package}/profile.toml": "package/profile.toml",
        "tests/test_probe.py": "tests/test_probe.py",
        "tests/test_device.py": "tests/test_device.py",
    }
    if answers.attention == "own":
        files |= {
            f"{package}/attention.py": "package/attention.py",
            "tests/test_attention.py": "tests/test_attention.py",
        }
    return files


def _rendered(template: str, answers: Answers) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # an extra

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # none of it is HTML, and `Answers` lets nothing through that ends a string
    )
    return environment.get_template(f"{template}.j2").render(chip=answers, version=accelplug.__version__)
