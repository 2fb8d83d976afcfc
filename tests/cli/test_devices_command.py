"""`accelplug devices` and `accelplug explain`: exit codes, JSON, and what goes to which stream."""

from __future__ import annotations

import json

import pytest

from accelplug.specs import Selection

BROKEN = "raise OSError('libacme.so: undefined symbol: acme_open')\n"
# A backend that is never usable, so that these tests say the same on a machine with accelerators.
ABSENT = """
from accelplug.hookspecs import hookimpl
from accelplug.specs import DeviceSpec, Probe, Verdict

def probe(host):
    return Probe(verdict=Verdict.no_driver, reason="card [0] without its driver", remedy="install the acme driver")

@hookimpl
def accelplug_device():
    return DeviceSpec(name="acme", title="Acme One", torch_type="acme", probe=probe)
"""


@pytest.fixture
def acme(install):
    return install("acme-backend", "accelplug.backends", "acme", "acme_backend", ABSENT)


def test_devices_shows_every_backend_and_marks_the_chosen_one(accelplug):
    done = accelplug("devices", "--device", "cpu")
    assert done.returncode == 0
    assert done.stdout.startswith("device cpu, decided by --device: always there")
    (chosen,) = [line for line in done.stdout.splitlines() if line.startswith("→")]
    assert chosen.split()[1:3] == ["cpu", "usable"]
    for name in ("cuda", "neuron", "spyre", "rocm", "xpu", "mps"):
        assert f" {name} " in done.stdout


def test_devices_as_json_is_the_selection_record(accelplug):
    selection = Selection.model_validate_json(accelplug("devices", "--device", "cpu", "--json").stdout)
    assert (selection.chosen, selection.decided_by) == ("cpu", "--device")
    assert {"cpu", "cuda", "neuron", "spyre"} <= {*selection.names()}


def test_a_misspelt_device_exits_2_with_the_nearest_name_on_standard_error(accelplug):
    done = accelplug("devices", "--device", "nuron")
    assert (done.returncode, done.stdout) == (2, "")
    assert "unknown device 'nuron' (from --device); did you mean 'neuron'?" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_misspelt_device_with_json_is_an_error_object_and_the_same_text_for_people(accelplug):
    done = accelplug("devices", "--device", "nuron", "--json")
    failure = json.loads(done.stdout)
    assert failure["exit_code"] == done.returncode == 2
    assert failure["error"] in done.stderr


def test_an_unusable_device_exits_1_with_its_verdict_and_what_to_do(accelplug, acme):
    done = accelplug("devices", "--device", "acme", PYTHONPATH=acme)
    assert done.returncode == 1
    assert "no usable device for 'acme' (asked by --device)" in done.stdout
    assert "acme: install the acme driver" in done.stdout


def test_an_unusable_device_with_json_prints_the_selection_and_says_why_on_standard_error(accelplug, acme):
    done = accelplug("devices", "--device", "acme", "--json", PYTHONPATH=acme)
    assert done.returncode == 1
    selection = json.loads(done.stdout)
    assert selection["chosen"] is None
    assert {c["name"]: c["verdict"] for c in selection["candidates"]}["acme"] == "no_driver"
    assert "device 'acme' (from --device) is not usable" in done.stderr


def test_the_first_usable_of_several_names_is_chosen(accelplug, acme):
    done = accelplug("devices", "--device", "acme,cpu", "--json", PYTHONPATH=acme)
    assert (done.returncode, json.loads(done.stdout)["chosen"]) == (0, "cpu")


def test_a_broken_backend_is_one_warning_and_the_others_still_load(accelplug, install):
    folder = install("acme-backend", "accelplug.backends", "acme", "acme_backend", BROKEN)
    done = accelplug("devices", "--device", "cpu", PYTHONPATH=folder)
    assert done.returncode == 0
    (warning,) = done.stderr.splitlines()
    assert warning.startswith("warning: ")
    assert "acme-backend 1.0" in warning
    assert "undefined symbol: acme_open" in warning


def test_asking_for_a_broken_backend_exits_1_and_explain_has_its_traceback(accelplug, install):
    folder = install("acme-backend", "accelplug.backends", "acme", "acme_backend", BROKEN)
    done = accelplug("explain", "--device", "acme", PYTHONPATH=folder)
    assert done.returncode == 1
    assert 'acme_backend.py", line 1' in done.stdout


def test_explain_of_one_device_is_about_that_one_only(accelplug, acme):
    done = accelplug("explain", "--device", "cpu", PYTHONPATH=acme)
    assert done.returncode == 0
    assert "→ cpu: CPU" in done.stdout
    assert "acme: Acme One" not in done.stdout


def test_a_misspelt_variable_is_a_warning_with_the_nearest_name(accelplug):
    done = accelplug("devices", ACCELPLUG_DEVCE="neuron")
    assert done.returncode == 0
    assert "warning: ACCELPLUG_DEVCE is not a setting of accelplug" in done.stderr
    assert "did you mean ACCELPLUG_DEVICE?" in done.stderr


def test_a_settings_file_that_is_not_there_exits_2_with_its_path(accelplug):
    done = accelplug("devices", ACCELPLUG_CONFIG="/nowhere/accelplug.toml")
    assert done.returncode == 2
    assert "/nowhere/accelplug.toml" in done.stderr


def test_nothing_is_cut_on_a_narrow_terminal(accelplug, acme):
    """The reason wraps in its column: read column-wise, it is whole."""
    done = accelplug("devices", PYTHONPATH=acme, COLUMNS="60")
    assert max(len(line) for line in done.stdout.splitlines()) <= 60
    assert "…" not in done.stdout
    assert {"[0]", "driver", "no_driver"} <= {*done.stdout.split()}


def test_piped_output_has_one_line_a_device_and_no_colour(accelplug, acme):
    done = accelplug("devices", PYTHONPATH=acme)
    assert "card [0] without its driver" in done.stdout
    assert "\x1b" not in done.stdout


def test_no_color_takes_colours_away_where_they_would_be_shown(accelplug):
    assert "\x1b[1;32m" in accelplug("devices", FORCE_COLOR="1", TERM="xterm").stdout
    assert "\x1b[1;32m" not in accelplug("devices", FORCE_COLOR="1", NO_COLOR="1", TERM="xterm").stdout
