"""``accelplug ray-resources``: what ``ray start`` is given."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from accelplug.cli import schema
from accelplug.cli.app import app

UNCOUNTED = 'name = "acme"\ntitle = "Acme One"\ntorch_type = "acme"\n'


def test_the_cores_of_a_simulated_neuron_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELPLUG_SIMULATE", "neuron")
    done = CliRunner().invoke(app, ["ray-resources"])
    assert (done.exit_code, done.stdout) == (0, "--resources='{\"neuron_cores\": 4}'\n")
    (argument,) = shlex.split(done.stdout)
    assert json.loads(argument.removeprefix("--resources=")) == {"neuron_cores": 4}


def test_only_the_visible_ones_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELPLUG_SIMULATE", "neuron")
    monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", "1-2")
    assert '{"neuron_cores": 2}' in CliRunner().invoke(app, ["ray-resources"]).stdout


def test_cpus_have_an_option_of_rays_own() -> None:
    done = CliRunner().invoke(app, ["ray-resources", "--device", "cpu"])
    assert done.stdout == f"--num-cpus={os.cpu_count()}\n"


def test_json_is_as_the_schema_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELPLUG_SIMULATE", "spyre")
    output = json.loads(CliRunner().invoke(app, ["ray-resources", "--json"]).stdout)
    assert output == {
        "device": "spyre",
        "simulated": True,
        "resource": "spyre",
        "count": 1,
        "ray_start": "--resources='{\"spyre\": 1}'",
    }
    full = schema.schema()
    jsonschema.validate(output, {"$ref": "#/$defs/output-ray-resources", "$defs": full["$defs"]})


def test_a_device_that_ray_can_not_count_ends_with_1_and_the_field(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "acme.toml").write_text(UNCOUNTED)
    monkeypatch.setenv("ACCELPLUG_SIMULATE", str(tmp_path / "acme.toml"))
    done = CliRunner().invoke(app, ["ray-resources"])
    assert (done.exit_code, done.stdout) == (1, "")
    assert "Acme One can't be counted by Ray" in done.stderr
    assert "DeviceSpec.ray_resource" in done.stderr


def test_help_has_examples() -> None:
    assert (
        "eval ray start --head $(accelplug ray-resources" in CliRunner().invoke(app, ["ray-resources", "--help"]).stdout
    )
