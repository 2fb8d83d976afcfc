"""``accelplug new``: what it writes is a package that works as it is, and what can't be written leaves nothing."""

from __future__ import annotations

import errno
import itertools
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from processes import PATIENCE, environment
from typer.testing import CliRunner

from accelplug.cli.app import app
from accelplug.errors import BadInputError
from accelplug.scaffold import Answers, write
from accelplug.sim.profile import find

FLAGS = [
    ["--int64", "--no-int64"],
    ["--dynamic-shapes", "--static-shapes"],
    ["--attention=pytorch", "--attention=own"],
]
MANY_DTYPES = "bool,uint8,int8,int16,int32,float16,float32,float64,complex64,complex128,float8_e5m2,float8_e4m3fn"
OWN_LINES = 100  # what the vendor's own code may take


def new(*arguments: str, folder: Path, code: int = 0) -> str:
    """Runs the command in ``folder``; what it prints."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        done = CliRunner().invoke(app, ["new", *arguments])
    finally:
        os.chdir(before)
    assert done.exit_code == code, done.output
    return done.output


def test_it_says_what_it_wrote_and_what_to_do_next(tmp_path: Path) -> None:
    said = new("acme", "--yes", folder=tmp_path)
    assert {*map(str.strip, said.splitlines())} >= {"accelplug_acme/__init__.py", "tests/test_probe.py", "Makefile"}
    assert said.endswith("next:\n  cd acme\n  make test\n  ACCELPLUG_SIMULATE=acme vllm serve MODEL --device acme\n")


def test_the_json_has_every_file_that_is_there(tmp_path: Path) -> None:
    said = json.loads(new("acme", "--yes", "--json", "--directory", "there", folder=tmp_path))
    there = [path.relative_to(tmp_path / "there") for path in (tmp_path / "there").rglob("*") if path.is_file()]
    assert said["files"] == sorted(map(str, there))
    assert (said["directory"], said["next"][0]) == ("there", "cd there")


@pytest.mark.parametrize("flags", [*itertools.product(*FLAGS)], ids=" ".join)
def test_whatever_is_answered_the_code_is_sound_and_the_simulated_chip_is_the_one_described(
    flags: tuple[str, ...], tmp_path: Path
) -> None:
    new("acme", "--yes", "--alignment", "128", "--display-name", "Acme (2)", *flags, folder=tmp_path)
    acme = tmp_path / "acme"
    for check in (("check",), ("format", "--check")):
        done = subprocess.run([sys.executable, "-m", "ruff", *check, "."], cwd=acme, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout

    profile = find(str(acme / "accelplug_acme" / "profile.toml"))
    constraints = constraints_of(acme)
    assert (profile.dtypes, profile.casts) == (tuple(constraints["dtypes"]), constraints["casts"])
    assert profile.holds("int64")
    assert ("int64" in profile.dtypes) is ("--int64" in flags)
    assert (profile.static_shapes, constraints["static_shapes"]) == ("--static-shapes" in flags,) * 2
    assert (profile.alignment_bytes, constraints["alignment_bytes"]) == (128, 128)
    code = "".join(file.read_text() for file in (acme / "accelplug_acme").glob("[!a]*.py"))
    assert len([line for line in code.splitlines() if line.strip()]) < OWN_LINES


def constraints_of(package: Path) -> dict[str, object]:
    """What the package's hook says."""
    program = (
        "import accelplug_acme as a; from accelplug.specs import Probe; "
        "print(a.accelplug_constraints(probe=Probe(verdict='no_hardware', reason='')).model_dump_json())"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=package, capture_output=True, text=True, check=True)
    said: dict[str, object] = json.loads(done.stdout)
    return said


def test_the_tests_of_its_probe_and_of_its_attention_pass(tmp_path: Path) -> None:
    """Those of the simulated device need the package to be installed: tests/e2e/test_new.py."""
    nodes = "/dev/chips/acme{n}.0"
    new("acme", "--yes", "--attention", "own", "--device-node", nodes, "--dtypes", MANY_DTYPES, folder=tmp_path)
    quick = ["tests/test_probe.py", "tests/test_attention.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *quick]
    done = subprocess.run(
        command,
        cwd=tmp_path / "acme",
        env=environment(PYTHONPATH="."),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "16 passed" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["Acme-One"], "'Acme-One' can't be the name: a name has lower-case letters, digits and _, and begins with"),
        (["Acme-One"], "such as 'acme_one'"),
        (["neuron"], "an installed backend has it; any other will do than cpu, cuda, mps, neuron"),
        (["hpu"], "PyTorch or accelplug has it for something else"),
        (["class"], "Python has it as a keyword; such as 'class_device'"),
        (["vllm"], "an installed package is called accelplug_vllm already"),
        (["full"], "torch.full is there already"),
        (["data"], "torch.Tensor.data is there already"),
        (["acme", "--dtypes", "float32,flaot16"], "unknown dtype 'flaot16'; did you mean 'float16'"),
        (["acme", "--dtypes", "float32,int64"], "a question of its own (--int64, --no-int64)"),
        (["acme", "--dtypes", "bool,uint8,int32"], "models run in one of bfloat16, float16, float32"),
        (["acme", "--dtypes", "float32"], "can't do without bool, uint8, int32"),
        (["acme", "--alignment", "0"], "--alignment 0: Input should be greater than or equal to 1"),
        (["acme", "--attention", "flash"], "--attention flash: Input should be 'pytorch' or 'own'"),
        (["acme", "--device-node", "/dev/acme"], "has {n} in it, such as '/dev/acme{n}'"),
        (["acme", "--display-name", 'A"cme'], '--display-name A"cme: a letter or digit first'),
        (["acme", "--sdk", "torch.acme"], "--sdk torch.acme: a top-level module"),
        (["acme", "--directory", "no/where"], "there is no folder"),
        (["acme", "--directory", "taken"], "taken is there already; remove it, or give --directory"),
    ],
)
def test_what_is_wrong_is_said_with_what_is_right_and_nothing_is_written(
    arguments: list[str], complaint: str, tmp_path: Path
) -> None:
    (tmp_path / "taken").mkdir()
    assert complaint in new(*arguments, "--yes", folder=tmp_path, code=2)
    assert [*tmp_path.iterdir()] == [tmp_path / "taken"]
    assert not [*(tmp_path / "taken").iterdir()]


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    said = new("acme", "--yes", "--alignment", "0", "--sdk", "x.y", folder=tmp_path, code=2)
    assert "--alignment 0" in said
    assert "--sdk x.y" in said


def test_without_a_terminal_nothing_is_answered_for_anybody(tmp_path: Path) -> None:
    assert "there is no terminal to ask in; give --yes" in new("acme", folder=tmp_path, code=2)


def test_where_writing_fails_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the last step: all files are written, and somebody else takes the folder's name in that moment."""

    def refuse(self: Path, target: Path) -> None:
        assert (self / "pyproject.toml").is_file()
        raise OSError(errno.ENOTEMPTY, "Directory not empty")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(BadInputError, match="acme can't be written: Directory not empty"):
        write(Answers(name="acme"), tmp_path / "acme")
    assert not [*tmp_path.iterdir()]


def test_questions_are_asked_in_a_terminal_and_asked_again_where_the_answer_is_none(tmp_path: Path) -> None:
    typed = ["Acme One", "", "", "float23", "bool,uint8,int32,float16", "maybe", "no", "yes", "32", "own"]
    ours, theirs = pty.openpty()
    os.write(ours, "".join(f"{line}\n" for line in typed).encode())
    done = subprocess.run(
        [sys.executable, "-m", "accelplug", "new", "acme"],
        cwd=tmp_path,
        stdin=theirs,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 0, done.stderr
    assert "What do people call the device? [Acme]" in done.stdout
    assert "unknown dtype 'float23'" in done.stdout + done.stderr
    assert "Input should be a valid boolean" in done.stdout + done.stderr
    profile = find(str(tmp_path / "acme" / "accelplug_acme" / "profile.toml"))
    assert (profile.title, profile.dtypes) == ("Acme One, simulated", ("bool", "uint8", "int32", "float16"))
    assert (profile.casts, profile.static_shapes, profile.alignment_bytes) == ({"int64": "int32"}, True, 32)
    assert (tmp_path / "acme" / "accelplug_acme" / "attention.py").is_file()
