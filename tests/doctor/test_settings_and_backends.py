"""What doctor says about settings and backends."""

from __future__ import annotations

import json

from findings import bad

from accelplug.doctor import Level, backends, configuration


def test_a_misspelt_variable_is_a_warning_with_the_nearest_name(packages):
    (finding,) = bad(configuration.checks(packages.host(ACCELPLUG_DEVCE="cpu")))
    assert finding.level is Level.warning
    assert "did you mean ACCELPLUG_DEVICE" in finding.summary


def test_an_invalid_setting_is_an_error_that_names_where_it_comes_from(packages, tmp_path):
    file = tmp_path / "accelplug.toml"
    file.write_text("probe_timeout = -1\n")
    host = packages.host(ACCELPLUG_CONFIG=str(file))
    (finding,) = configuration.checks(host)
    assert finding.level is Level.error
    assert str(file) in finding.summary
    (unchecked,) = backends.checks(host)
    assert "not checked" in unchecked.summary


def test_a_setting_that_names_no_backend_is_an_error_and_the_backends_are_still_listed(packages):
    findings = [*backends.checks(packages.host(ACCELPLUG_DEVICE="nuron"))]
    assert "did you mean 'neuron'" in findings[0].summary
    assert findings[0].level is Level.error
    assert "backend cuda" in {finding.check for finding in findings}


def test_a_setting_that_asks_for_an_absent_device_is_an_error(packages, tmp_path):
    host = packages.host(ACCELPLUG_DEVICE="cuda")
    host.root = tmp_path
    device = next(iter(backends.checks(host)))
    assert (device.check, device.level) == ("device", Level.error)
    assert "ACCELPLUG_DEVICE" in device.summary


def test_a_backend_that_does_not_import_is_an_error_with_its_traceback(packages):
    files = {"accelplug_acme.py": "raise OSError('libacme.so: undefined symbol')\n"}
    packages.install("accelplug-acme", "2.0", entry_points={"accelplug.backends:acme": "accelplug_acme"}, files=files)
    done = packages.python("-m", "accelplug", "doctor", "--json")
    (finding,) = [f for f in json.loads(done.stdout)["findings"] if f["check"] == "backend acme"]
    assert done.returncode == 1
    assert finding["level"] == "error"
    assert "OSError: libacme.so: undefined symbol (accelplug-acme 2.0)" in finding["summary"]
    assert 'accelplug_acme.py", line 1' in finding["details"]["traceback"]
    assert "ACCELPLUG_BACKENDS" in finding["remedy"]
    assert done.stderr == "", "the report says it all; no second warning on standard error"
