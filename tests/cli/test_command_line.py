"""The command line as a whole: help, version, completion, imports, further commands, JSON schema."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from accelplug import __version__
from accelplug.cli import schema
from accelplug.cli.app import app
from accelplug.cli.options import complete_device

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "cli-schema.json"
HELLO = """
import typer

def hello(context: typer.Context, name: str, loud: bool = False) -> None:
    "Greets."
    print(name.upper() if loud else name, context.args)

def boom() -> None:
    from accelplug.errors import BadInputError
    raise BadInputError("no such greeting")

def bug() -> None:
    raise ZeroDivisionError("a bug")
"""


def test_version_is_the_packages(accelplug):
    assert accelplug("--version").stdout == f"accelplug {__version__}\n"


@pytest.mark.parametrize("command", [[], ["devices"], ["explain"], ["doctor"], ["conform"], ["trace"], ["top"]])
def test_help_has_examples(command):
    result = CliRunner().invoke(app, [*command, "--help"])
    assert result.exit_code == 0
    assert "Examples:" in result.stdout
    assert " ".join(["accelplug", *(command or ["devices"])]) in result.stdout


def test_an_unknown_option_exits_2(accelplug):
    assert accelplug("devices", "--bogus").returncode == 2


@pytest.mark.parametrize("command", ["devices", "explain", "doctor"])
def test_looking_imports_neither_torch_nor_vllm(python, command):
    code = (
        "import sys\nfrom accelplug.cli.app import app\n"
        f"sys.argv = ['accelplug', {command!r}]\ntry:\n    app()\nexcept SystemExit:\n    pass\n"
        "print('imported:', sorted({'torch', 'vllm', 'accelplug_vllm.launch'} & {*sys.modules}))"
    )
    done = python(code)
    assert done.stdout.splitlines()[-1] == "imported: []", done.stderr


def test_completion_knows_device_names_also_after_a_comma():
    assert complete_device("neu") == ["neuron"]
    assert complete_device("au") == ["auto"]
    assert complete_device("neuron,c") == ["neuron,cpu", "neuron,cuda"]
    assert "neuron,neuron" not in complete_device("neuron,")


def test_completion_imports_no_backend(python):
    code = (
        "import sys\nfrom accelplug.cli.options import complete_device\nassert 'cpu' in complete_device('')\n"
        "print([name for name in sys.modules if name.startswith(('accelplug.builtin', 'accelplug_', 'torch'))])"
    )
    done = python(code)
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("devices --device spy", ["spyre"]), ("ne", ["new"]), ("new acme --attention o", ["own"])],
)
def test_the_shell_gets_what_can_be_typed(python, typed, offered):
    code = "import sys; from accelplug.cli.app import app; sys.argv = ['accelplug']; app(prog_name='accelplug')"
    last = str(len(typed.split()))
    done = python(code, _ACCELPLUG_COMPLETE="complete_bash", COMP_WORDS=f"accelplug {typed}", COMP_CWORD=last)
    assert done.stdout.split() == offered, done.stderr


def test_a_command_of_another_package_gets_its_arguments_and_passes_on_the_rest(accelplug, install):
    folder = install("hello-package", "accelplug.commands", "hello", "hello_commands:hello", HELLO)
    done = accelplug("hello", "you", "--port", "8000", "--loud", PYTHONPATH=folder)
    assert done.stdout == "YOU ['--port', '8000']\n"
    assert "Greets." in accelplug("--help", PYTHONPATH=folder).stdout


def test_an_error_of_such_a_command_is_one_clean_message(accelplug, install):
    folder = install("hello-package", "accelplug.commands", "boom", "hello_commands:boom", HELLO)
    done = accelplug("boom", PYTHONPATH=folder)
    assert (done.returncode, done.stderr) == (2, "accelplug: no such greeting\n")


def test_a_bug_keeps_its_traceback(accelplug, install):
    folder = install("hello-package", "accelplug.commands", "bug", "hello_commands:bug", HELLO)
    done = accelplug("bug", PYTHONPATH=folder)
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")
    assert done.stderr.endswith("ZeroDivisionError: a bug\n")


def test_a_command_that_can_not_be_imported_says_so_in_its_place_and_the_others_work(accelplug, install):
    folder = install("hello-package", "accelplug.commands", "hello", "gone:hello", None)
    assert accelplug("devices", "--device", "cpu", PYTHONPATH=folder).stderr == ""
    assert "No module named 'gone'" in accelplug("--help", PYTHONPATH=folder, COLUMNS="200").stdout
    done = accelplug("hello", "--anything", "you", PYTHONPATH=folder)
    assert done.returncode == 1
    assert "hello-package 1.0" in done.stderr
    assert "No module named 'gone'" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_own_command_can_not_be_taken_over(accelplug, install):
    folder = install("hello-package", "accelplug.commands", "devices", "hello_commands:bug", HELLO)
    assert accelplug("devices", "--device", "cpu", PYTHONPATH=folder).stdout.startswith("device cpu")


def test_a_check_of_another_package_that_fails_is_a_finding(accelplug, install):
    folder = install("sick-package", "accelplug.checks", "sick", "gone:checks", None)
    done = accelplug("doctor", "--json", PYTHONPATH=folder)
    (finding,) = [f for f in json.loads(done.stdout)["findings"] if f["check"] == "sick"]
    assert done.returncode == 1
    assert "sick-package 1.0" in finding["summary"]
    assert "No module named 'gone'" in finding["details"]["traceback"]


def test_doctor_yes_without_fix_is_bad_input(accelplug):
    done = accelplug("doctor", "--yes")
    assert (done.returncode, "--fix" in done.stderr) == (2, True)


def test_the_schema_in_the_docs_is_the_one_of_the_code():
    assert SCHEMA.read_text() == schema.text(), "python -m accelplug.cli.schema > docs/reference/cli-schema.json"


@pytest.mark.parametrize("command", ["devices", "explain", "doctor"])
@pytest.mark.parametrize("settings", [{}, {"ACCELPLUG_PROBE_TIMEOUT": "never"}])
def test_json_is_as_the_schema_says(accelplug, command, settings):
    output = json.loads(accelplug(command, "--json", **settings).stdout)
    full = json.loads(SCHEMA.read_text())
    jsonschema.validate(output, {"$ref": f"#/$defs/output-{command}", "$defs": full["$defs"]})


def test_the_schema_refuses_what_is_not_an_output():
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"chosen": "cpu"}, json.loads(SCHEMA.read_text()))
